"""A server for others: safe by its file, without uploads in public, and with clear messages about missing parts."""

import json
import re
import tomllib
from pathlib import Path

import pytest
import yaml
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.forward_msg_cache import populate_hash_if_needed

from dpviz.ui.server import processes, security
from dpviz.ui.server.startup import HEALTH

ROOT = Path(__file__).resolve().parents[3]
CONFIG = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text("utf-8"))
DEPLOY = ROOT / "assets" / "deploy"
CONTAINER = (DEPLOY / "Containerfile").read_text("utf-8")
GUIDE = (DEPLOY / "README.md").read_text("utf-8")


def test_the_file_is_safe_by_default():
    server = CONFIG["server"]
    assert CONFIG["browser"]["gatherUsageStats"] is False
    assert server["address"] == "localhost"
    assert server["allowedHosts"]
    assert not [host for host in server["allowedHosts"] if "*" in host]
    assert server["enableXsrfProtection"] is True
    assert server["enableCORS"] is True, "off, it would let every page of the web talk to the server"
    assert server["enableStaticServing"] is False, "no folder is there to be browsed"
    assert server["maxUploadSize"] <= 50
    assert server["fileWatcherType"] == "none"
    assert CONFIG["client"]["showErrorDetails"] == "none", "no traceback reaches a reader"
    assert CONFIG["client"]["toolbarMode"] == "minimal"


def test_the_container_runs_as_nobody_in_public_and_copies_what_there_is():
    steps = [line.split(maxsplit=1) for line in CONTAINER.splitlines() if re.match(r"[A-Z]+ ", line)]
    users = [rest for name, rest in steps if name == "USER"]
    assert users
    assert not re.match(r"(0|root)\b", users[-1])
    copied = [path for name, rest in steps if name == "COPY" for path in rest.split()[:-1] if not path.startswith("--")]
    assert {"app.py", "dpviz", "pages", "requirements.txt", ".streamlit"} <= set(copied)
    assert [path for path in copied if not (ROOT / path).exists()] == []
    assert "ADD" not in [name for name, _ in steps]
    assert f"{security.PROFILE}=public" in CONTAINER
    assert [name for name, _ in steps].index("USER") < [name for name, _ in steps].index("CMD")
    assert "--server.allowedHosts" in GUIDE
    for word in ("TLS", "read-only", "proxy_read_timeout", "DPVIZ_PROFILE", "memory"):
        assert word in GUIDE


def test_the_class_in_containers_is_the_container_and_the_caddy_of_this_code():
    whole = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
    caddy_of, apps = whole["services"]["caddy"], {k: v for k, v in whole["services"].items() if k != "caddy"}
    assert len(apps) >= 2
    # All apps are alike.
    (app,) = {json.dumps(each, sort_keys=True) for each in apps.values()}
    app = json.loads(app)
    assert (DEPLOY / app["build"]["context"]).resolve() == ROOT
    assert ROOT / app["build"]["dockerfile"] == DEPLOY / "Containerfile"
    (subnet,) = whole["networks"]["inside"]["ipam"]["config"]
    assert app["environment"] == {"FORWARDED_ALLOW_IPS": subnet["subnet"]}, "the image is the public one, behind Caddy"
    assert app["command"][::2] == re.findall(r'CMD \["([^"]+)"', CONTAINER.splitlines()[-1])
    (port,) = re.findall(r"^EXPOSE (\d+)$", CONTAINER, re.MULTILINE)
    assert f"STREAMLIT_SERVER_PORT={port}" in CONTAINER
    assert f"http://localhost:{port}{HEALTH}" in app["healthcheck"]["test"][-1]
    assert json.dumps(app["healthcheck"]["test"][1:]) in CONTAINER
    assert app["read_only"]
    assert "ports" not in app, "nobody reaches it but through Caddy"
    assert whole["networks"]["inside"]["internal"]
    assert app["networks"] == ["inside"]

    caddy = processes.TEMPLATE.read_text("utf-8")
    assert f"{{$DPVIZ_PROCESSES:{' '.join(f'{name}:{port}' for name in apps)}}}" in caddy
    assert f"health_uri {HEALTH}\n" in caddy
    assert list(caddy_of["depends_on"]) == list(apps)
    assert caddy_of["environment"]["DPVIZ_HOST"] == app["command"][1] == "${DPVIZ_HOST:-localhost}"
    assert "{$DPVIZ_HOST:localhost}" in caddy
    assert (DEPLOY / caddy_of["volumes"][0].partition(":")[0]).resolve(strict=True) == processes.TEMPLATE
    for name in apps:
        assert name in GUIDE
    assert f"dpviz serve {processes.OPTION} 2" in GUIDE


@pytest.mark.parametrize("least", [CONFIG["global"]["minCachedMessageSize"], 10_000])
def test_a_browser_is_never_referred_to_what_it_may_have_forgotten(monkeypatch, least):
    monkeypatch.setattr("streamlit.config.get_option", {"global.minCachedMessageSize": least}.__getitem__)
    message = ForwardMsg()
    message.delta.new_element.html.body = "x" * 1_000_000
    populate_hash_if_needed(message)
    assert message.metadata.cacheable == (least == 10_000), "Streamlit's own choice lets it"
