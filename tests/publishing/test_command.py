"""`dpviz publish` without what its extra brings: it helps, and says what to install."""

import subprocess
import sys

import pytest

from dpviz import publishing

# As where they are not installed: also what loads them before they are asked for would fail.
WITHOUT = "import sys; sys.modules.update({name: None for name in ('markdown_it', 'latex2mathml')}); "
START = "from dpviz.__main__ import main; sys.exit(main(['publish', *sys.argv[1:]]))"


def published(*arguments):
    script = [sys.executable, "-c", WITHOUT + START, *arguments]
    return subprocess.run(script, capture_output=True, check=False, text=True, timeout=120)


def test_without_the_extra_it_says_which_to_install_and_its_help_works(tmp_path):
    helped = published("--help")
    assert helped.returncode == 0, helped.stderr
    assert "usage: dpviz publish" in helped.stdout
    refused = published(str(tmp_path / "site"))
    assert refused.returncode == 2
    assert refused.stderr.startswith(publishing.MISSING)
    assert "Traceback" not in refused.stderr
    assert not (tmp_path / "site").exists()


@pytest.mark.parametrize("absent", publishing.EXTRA)
def test_each_part_of_the_extra_is_looked_for(monkeypatch, capsys, tmp_path, absent):
    monkeypatch.setitem(sys.modules, absent, None)
    assert publishing.main([str(tmp_path / "site")]) == 2
    assert f"({absent}: not installed)" in capsys.readouterr().err
