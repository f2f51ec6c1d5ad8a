"""Streamlit components whose script a browser fetches only once.

By default, Streamlit would send it with every message.

Streamlit serves a component's files only from a folder that the manifest of an installed package names. This package is
run from a clone, so it passes the same manifest to Streamlit's component manager itself. This interface is not public.
If it is missing or behaves differently, the script is sent with each message, and everything else stays the same.
"""

from collections.abc import Callable
from functools import cache
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

import streamlit as st
from streamlit.logger import get_logger
from streamlit.runtime import Runtime

from dpviz.assets import FOLDER as ASSETS
from dpviz.assets import module, text

_PACKAGE = "dpviz"
_DECLARING = Lock()
# Components that each component manager serves.
_DECLARED: WeakKeyDictionary[Any, set[str]] = WeakKeyDictionary()


def served(name: str, *, styles: tuple[str, ...] = ()) -> Callable[..., Any]:
    """Return the mounting command of the component `name`, made of dpviz/assets/`name`.js.

    `styles` are its sheets, by default `name`.css.
    """

    def mount(**arguments: Any) -> Any:
        return _component(name, styles or (name,), _declare(name))(**arguments)

    return mount


def _declare(name: str) -> bool:
    """Register the folder of assets with the running Streamlit; return True if it serves the component from there."""
    try:
        from streamlit.components.v2.manifest_scanner import ComponentConfig, ComponentManifest

        if not Runtime.exists():
            return False
        manager = Runtime.instance().bidi_component_registry
        # Cached, because every picture requests it, and resolving paths takes a while.
        if name in _DECLARED.setdefault(manager, set()):
            return True
        # A second declaration would undo the first session's declaration.
        with _DECLARING:
            if manager.get_component_asset_root(f"{_PACKAGE}.{name}") is None:
                manifest = ComponentManifest(_PACKAGE, "1", [ComponentConfig(name, ASSETS.name)])
                manager.register_from_manifest(manifest, ASSETS.parent)
        if manager.get_component_asset_root(f"{_PACKAGE}.{name}") == ASSETS.resolve():
            _DECLARED[manager].add(name)
        return name in _DECLARED[manager]
    # Catch any change in Streamlit, because the picture matters more than its transport.
    except Exception:
        _warn(name)
        return False


# Warn once instead of with every picture.
@cache
def _warn(name: str) -> None:
    get_logger(__name__).warning("The script of %s is sent with every message.", name, exc_info=True)


@cache
def _component(name: str, styles: tuple[str, ...], from_file: bool) -> Callable[..., Any]:
    # Styles are sent with the first message, because they are short and must be there when the picture is measured.
    css = "".join(text(f"{sheet}.css") for sheet in styles)
    if from_file:
        return st.components.v2.component(f"{_PACKAGE}.{name}", js=f"{name}.js", css=css)
    return st.components.v2.component(f"{_PACKAGE}_{name}", js=module(name), css=css)
