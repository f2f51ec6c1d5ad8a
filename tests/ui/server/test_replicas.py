"""Several processes behind one address: they are kept running, start again in turn, and end with what keeps them."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import psutil
import pytest

from dpviz.ui.server import replicas

ROOT = Path(__file__).resolve().parents[3]
SERVE = "import sys; from pathlib import Path; from dpviz.ui.server.replicas import serve\n"
SERVE += "if __name__ == '__main__': sys.exit(serve(Path(sys.argv[1]), sys.argv[2:]))"
WAIT = 90.0  # s, far above what it takes


def start(app, *options):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-c", SERVE, str(app), "--server.port", str(port), *options]
    return port, subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def until(holds):
    end = time.monotonic() + WAIT
    while not (found := holds()):
        assert time.monotonic() < end
        time.sleep(0.1)
    return found


def asked(port, replica=None):
    """Ask for the app's health; returns the status and the cookie that was set."""
    request = urllib.request.Request(f"http://localhost:{port}{replicas.HEALTH}")
    if replica is not None:
        request.add_header("Cookie", f"dpviz-replica={replica}")
    with contextlib.suppress(urllib.error.HTTPError), urllib.request.urlopen(request, timeout=60) as answer:
        ours = [each for each in answer.headers.get_all("Set-Cookie", []) if each.startswith("dpviz-replica")]
        return answer.status, "".join(ours).partition(";")[0]
    return None


@pytest.fixture
def keeper(tmp_path):
    """Start two processes of an app and return its port and what keeps them."""
    app = tmp_path / "app.py"
    app.write_text("import streamlit as st\nst.write('here')\n", "utf-8")
    port, process = start(app, "--replicas", "2")
    try:
        assert f"2 processes of the app at http://localhost:{port}\n" in iter(process.stdout.readline, "")
        until(lambda: both_answer(port, process))
        yield port, process
    finally:
        process.kill()
        process.communicate(timeout=20)


def pids(process):
    return {each.pid for each in psutil.Process(process.pid).children()}


def both_answer(port, process):
    return len(pids(process)) == 2 and [asked(port, number) for number in (0, 1)] == [(200, "")] * 2


POSIX = pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX systems")


@POSIX
def test_a_process_that_is_killed_starts_again_and_all_end_with_their_keeper(keeper):
    port, process = keeper
    before = pids(process)
    os.kill(min(before), signal.SIGKILL)
    moved = [asked(port, number) for number in (0, 1)]
    assert {status for status, _ in moved} == {200}
    assert len({cookie for _, cookie in moved} - {""}) == 1, "one reader has another process now, the other one not"
    until(lambda: both_answer(port, process))
    assert len(before & pids(process)) == 1

    last = [psutil.Process(pid) for pid in pids(process)]
    process.kill()  # and has no time to say so
    _, alive = psutil.wait_procs(last, timeout=WAIT)
    assert alive == []


@pytest.mark.slow  # one that is killed starts again above
@POSIX
def test_asked_to_they_start_again_in_turn(keeper):
    port, process = keeper
    before, seen = pids(process), set()
    process.send_signal(signal.SIGUSR1)

    def all_new():
        answer = asked(port)
        seen.add(answer and answer[0])
        return not before & pids(process) and both_answer(port, process)

    until(all_new)
    assert seen == {200}, "somebody answers all of the time"


def test_an_app_that_cannot_start_says_why_and_is_not_tried_again(tmp_path):
    _, process = start(tmp_path / "app.py", "--replicas", "2")
    said, _ = process.communicate(timeout=WAIT)
    assert process.returncode == 2
    assert said.count("does not exist") == 1
    assert "processes of the app" not in said


def test_a_port_that_is_taken_and_a_number_that_cannot_be_are_said(capsys):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        options = ["--replicas", "2", "--server.port", str(port), "--server.address", "127.0.0.1"]
        assert replicas.serve(Path("app.py"), options) == 1
    assert f"127.0.0.1:{port} cannot be used" in capsys.readouterr().err
    for number in ("0", "65", "two"):
        with pytest.raises(SystemExit, match="2"):
            replicas.serve(Path("app.py"), ["--replicas", number])
        assert "--replicas" in capsys.readouterr().err
