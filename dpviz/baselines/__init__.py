"""Baselines: methods for comparison with the papers' methods, with the same protocol as a method's algorithm.

A baseline is one module with TITLE, PAPER, `Params`, `fit` and `steps`, with its proof in the docstring, and one row
here.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType, ModuleType
from typing import Protocol

from dpviz.baselines import blum, dp_em, dplloyd, dwork, em_mc, eugkm, fastlloyd, gupt, lloyd, lsh_splits, privgene
from dpviz.baselines._base import ClusterParams
from dpviz.core import Algorithm, AnyAlgorithm, AuditPlan, Catalogue, Entry, Release, Result, Step


def __getattr__(name: str) -> ModuleType:
    """Return the module of a baseline by its former name, with a DeprecationWarning."""
    try:
        return sys.modules[CATALOGUE[name].place]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None


class BaselineModule(Protocol):
    """Interface of a baseline's module."""

    __name__: str
    TITLE: str
    PAPER: str

    @property
    def Params(self) -> type[ClusterParams]:  # noqa: N802  # the class
        """Return the class of its parameters, all public."""

    @property
    def fit(self) -> Callable[..., Result[Release, Step]]:
        """Run it once."""

    @property
    def steps(self) -> Callable[..., Iterator[Step]]:
        """Yield the steps of a run."""


def _row(
    module: BaselineModule,
    estimator: str,
    audit: AuditPlan,
    *,
    compared: bool = True,
    on: bool = False,
    short: str = "",
    in_family: bool = True,
    former: tuple[str, ...] = (),
) -> AnyAlgorithm:
    """Return the entry of one module.

    `on`: comparisons show it at first. `in_family`: the k-means page has it as a mode.
    """
    name = module.__name__.rpartition(".")[2]
    link = (("mode", name),) if in_family else ()
    return Algorithm(
        name=name,
        title=module.TITLE,
        estimator=estimator,
        paper=module.PAPER,
        place=module.__name__,
        Params=module.Params,
        fit=module.fit,
        steps=module.steps,
        entries=(Entry(link=link, on=on, short=short),) if compared else (),
        audit=audit,
        former=former,
    )


_ONE_PASS = AuditPlan(settings={"n_iterations": 1}, borders=({"n_clusters": 20},))


def _brief(idle: frozenset[str] = frozenset(), **settings: int) -> AuditPlan:
    return AuditPlan(settings=settings, idle=idle, borders=({"n_clusters": 2},))


_ALL = (
    _row(lloyd, "Lloyd", AuditPlan(settings={"n_iterations": 1}), compared=False),
    _row(blum, "BLUM", _ONE_PASS),
    _row(dwork, "DWORK", _ONE_PASS),
    _row(dplloyd, "DPLloyd", _ONE_PASS, former=("su",)),
    _row(fastlloyd, "FastLloyd", _ONE_PASS),
    _row(gupt, "GUPT", _brief()),
    _row(privgene, "PrivGene", _brief(n_rounds=2)),
    _row(eugkm, "EUGkM", _brief(frozenset({"cells"})), on=True, short="Noisy grid"),
    _row(lsh_splits, "LSHSplits", _brief(max_depth=2), in_family=False),
    _row(em_mc, "EMMC", _brief(n_scales=1), in_family=False),
    _row(dp_em, "DPEM", _brief(n_iterations=2), in_family=False),
)
CATALOGUE: Mapping[str, AnyAlgorithm] = MappingProxyType(Catalogue({algorithm.name: algorithm for algorithm in _ALL}))
# Scripts also import a baseline's module by its former name.
sys.modules.update({f"{__name__}.{old}": sys.modules[each.place] for each in _ALL for old in each.former})
