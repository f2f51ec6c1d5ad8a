"""Methods that the papers' own are compared with; the same protocol as a method's algorithm.

A baseline is one module with TITLE, PAPER, `Params`, `fit` and `steps`, the proof in its docstring, and one row here.
"""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Protocol

from dpviz.baselines import blum, dp_em, dwork, em_mc, eugkm, fastlloyd, gupt, lloyd, lsh_splits, privgene, su
from dpviz.baselines._base import ClusterParams
from dpviz.core import Algorithm, AnyAlgorithm, AuditPlan, Entry, Release, Result, Step


class BaselineModule(Protocol):
    """What the module of a baseline offers."""

    __name__: str
    TITLE: str
    PAPER: str

    @property
    def Params(self) -> type[ClusterParams]:  # noqa: N802  # the class
        """Its parameters, all public."""

    @property
    def fit(self) -> Callable[..., Result[Release, Step]]:
        """Runs it once."""

    @property
    def steps(self) -> Callable[..., Iterator[Step]]:
        """Yields the steps of a run."""


def _row(
    module: BaselineModule,
    estimator: str,
    audit: AuditPlan,
    compared: str = "",
    *,
    on: bool = False,
    short: str = "",
    in_family: bool = True,
) -> AnyAlgorithm:
    """Return the entry of one module.

    `compared` is its name in a comparison, which opens with it if `on`; `in_family`: the k-means page has it as a mode.
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
        entries=(Entry(name, compared, link=link, on=on, short=short),) if compared else (),
        audit=audit,
    )


_ONE_PASS = AuditPlan(settings={"n_iterations": 1}, borders=({"n_clusters": 20},))


def _brief(idle: frozenset[str] = frozenset(), **settings: int) -> AuditPlan:
    return AuditPlan(settings=settings, idle=idle, borders=({"n_clusters": 2},))


_ALL = (
    _row(lloyd, "Lloyd", AuditPlan(settings={"n_iterations": 1})),
    _row(blum, "BLUM", _ONE_PASS, "BLUM (SuLQ)"),
    _row(dwork, "DWORK", _ONE_PASS, "DWORK (halving)"),
    _row(su, "DPLloyd", _ONE_PASS, "DPLloyd (SU)"),
    _row(fastlloyd, "FastLloyd", _ONE_PASS, "FastLloyd"),
    _row(gupt, "GUPT", _brief(), "GUPT"),
    _row(privgene, "PrivGene", _brief(n_rounds=2), "PrivGene"),
    _row(eugkm, "EUGkM", _brief(frozenset({"cells"})), "EUGkM (noisy grid)", on=True, short="Noisy grid"),
    _row(lsh_splits, "LSHSplits", _brief(max_depth=2), "LSH-Splits (slow)", in_family=False),
    _row(em_mc, "EMMC", _brief(n_scales=1), "EM-MC", in_family=False),
    _row(dp_em, "DPEM", _brief(n_iterations=2), "DP-EM (mixture)", in_family=False),
)
CATALOGUE: Mapping[str, AnyAlgorithm] = MappingProxyType({algorithm.name: algorithm for algorithm in _ALL})
