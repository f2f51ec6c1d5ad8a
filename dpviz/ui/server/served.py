"""Components whose script a browser fetches once, where Streamlit would send it along with every message.

Streamlit serves a component's files only out of a folder that the manifest of an installed package names. This package
is run from a clone, so it hands the same manifest to Streamlit's component manager itself. That is no public interface:
should it be missing or behave differently, the script travels with each message, and everything else is as before.
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
_DECLARED: WeakKeyDictionary[Any, set[str]] = WeakKeyDictionary()  # component manager -> names that it serves


def served(name: str, *parts: str, styles: tuple[str, ...] = ()) -> Callable[..., Any]:
    """Return the mounting command of the component `name`, made of dpviz/assets/`name`.js.

    `parts` are the scripts that it imports, in an order in which they can stand before it in one module; `styles` its
    sheets, by default `name`.css.
    """
    sheets = styles or (name,)

    def mount(**arguments: Any) -> Any:
        command = _from_file(name, sheets) if _declare(name) else _inline(name, parts, sheets)
        return command(**arguments)

    return mount


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
def _from_file(name: str, sheets: tuple[str, ...]) -> Callable[..., Any]:
    # Styles go along: they must be there when the picture is measured for the first time, and they are few.
    return st.components.v2.component(f"{_PACKAGE}.{name}", js=f"{name}.js", css=_styles(sheets))


@cache
def _inline(name: str, parts: tuple[str, ...], sheets: tuple[str, ...]) -> Callable[..., Any]:
    return st.components.v2.component(f"{_PACKAGE}_{name}", js=module(name, *parts), css=_styles(sheets))


def _styles(sheets: tuple[str, ...]) -> str:
    return "".join(text(f"{sheet}.css") for sheet in sheets)
