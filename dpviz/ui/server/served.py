"""Components whose script a browser fetches once, where Streamlit would send it along with every message.

Streamlit serves a component's files only out of a folder that the manifest of an installed package names. This package
is run from a clone, so it hands the same manifest to Streamlit's component manager itself. That is no public interface:
should it be missing or behave differently, the script travels with each message, and everything else is as before.
"""

import re
from collections.abc import Callable
from functools import cache
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

import streamlit as st
from streamlit.logger import get_logger
from streamlit.runtime import Runtime

from dpviz.assets import FOLDER as ASSETS

_PACKAGE = "dpviz"
_IMPORT = re.compile(r"^import \{.*?\} from \"\./\w+\.js\";\n", re.DOTALL | re.MULTILINE)
_DECLARING = Lock()
_DECLARED: WeakKeyDictionary[Any, set[str]] = WeakKeyDictionary()  # component manager -> names that it serves


def served(name: str, *parts: str) -> Callable[..., Any]:
    """Return the mounting command of the component `name`, made of dpviz/assets/`name`.js and .css.

    `parts` are the scripts that it imports, in an order in which they can stand before it in one module.
    """

    def mount(**arguments: Any) -> Any:
        command = _from_file(name) if _declare(name) else _inline(name, parts)
        return command(**arguments)

    return mount


def script(name: str, *parts: str) -> str:
    """Return a component's script and the parts it imports as one module."""
    return "".join(_IMPORT.sub("", _read(f"{part}.js")) for part in (*parts, name))


def _declare(name: str) -> bool:
    """Name the folder of assets to the running Streamlit, and return whether it serves the component from there."""
    try:
        from streamlit.components.v2.manifest_scanner import ComponentConfig, ComponentManifest

        if not Runtime.exists():
            return False
        manager = Runtime.instance().bidi_component_registry
        if name in _DECLARED.setdefault(manager, set()):  # every picture asks, and to resolve paths takes a while
            return True
        with _DECLARING:  # a second declaration would take back what the first session has made of it
            if manager.get_component_asset_root(f"{_PACKAGE}.{name}") is None:
                manifest = ComponentManifest(_PACKAGE, "1", [ComponentConfig(name, ASSETS.name)])
                manager.register_from_manifest(manifest, ASSETS.parent)
        if manager.get_component_asset_root(f"{_PACKAGE}.{name}") == ASSETS.resolve():
            _DECLARED[manager].add(name)
        return name in _DECLARED[manager]
    except Exception:  # whatever has changed in there, a picture is worth more than its way
        _warn(name)
        return False


@cache  # once, not with every picture
def _warn(name: str) -> None:
    get_logger(__name__).warning("The script of %s is sent with every message.", name, exc_info=True)


@cache
def _from_file(name: str) -> Callable[..., Any]:
    # Styles go along: they must be there when the picture is measured for the first time, and they are few.
    return st.components.v2.component(f"{_PACKAGE}.{name}", js=f"{name}.js", css=_read(f"{name}.css"))


@cache
def _inline(name: str, parts: tuple[str, ...]) -> Callable[..., Any]:
    return st.components.v2.component(f"{_PACKAGE}_{name}", js=script(name, *parts), css=_read(f"{name}.css"))


def _read(file: str) -> str:
    return (ASSETS / file).read_text(encoding="utf-8")
