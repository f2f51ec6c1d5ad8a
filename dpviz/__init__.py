"""dpviz: see what differential privacy does to clustering.

    run = dpviz.run("dpm", dpviz.load("blobs"), epsilon=1)   # any method, any records: release, guarantee, picture
    dpviz.methods()                                          # a table of all methods

`dir(dpviz)` lists the whole library. Each name is imported when it is first used. `dpviz.methods` and `dpviz.audit` are
also packages, from which you import their other names.
"""

from importlib import import_module
from pkgutil import resolve_name
from types import ModuleType
from typing import TYPE_CHECKING, Any

from dpviz._version import __version__ as __version__

if TYPE_CHECKING:
    from dpviz import audit, estimators, methods
    from dpviz.accounting.budgets import OpenBudget as budget  # noqa: N813 - it is called, as a function is
    from dpviz.data import load
    from dpviz.many import compare, sweep
    from dpviz.runs import run, show
    from dpviz.tools.compare.proposal import recommend

_PLACES = {
    "budget": "dpviz.accounting.budgets:OpenBudget",
    "compare": "dpviz.many:compare",
    "load": "dpviz.data:load",
    "recommend": "dpviz.tools.compare.proposal:recommend",
    "run": "dpviz.runs:run",
    "show": "dpviz.runs:show",
    "sweep": "dpviz.many:sweep",
}

__all__ = ["audit", "budget", "compare", "estimators", "load", "methods", "recommend", "run", "show", "sweep"]


class CalledPackage(ModuleType):
    """A package that can also be called: `dpviz.methods()` and `dpviz.audit("mine.py")`, functions of `dpviz.many`."""

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Call the function of the package's name."""
        return resolve_name(f"dpviz.many:{self.__name__.rpartition('.')[2]}")(*arguments, **named)


def __getattr__(name: str) -> Any:
    """Import the requested name. Raises AttributeError, which lists the available names."""
    if name not in __all__:
        raise AttributeError(f"dpviz has no {name!r}; it has {', '.join(__all__)}. Other names are in its packages.")
    globals()[name] = resolve_name(_PLACES[name]) if name in _PLACES else import_module(f"dpviz.{name}")
    return globals()[name]


def __dir__() -> list[str]:
    """Return the names of the library, for `dir` and for editors."""
    return __all__
