"""Methods that the papers' own are compared with; the same protocol as a method's algorithm."""

from collections.abc import Mapping
from types import MappingProxyType

from dpviz.baselines import blum, dwork, em_mc, eugkm, gupt, lloyd, lsh_splits, privgene, su
from dpviz.core import Algorithm, AnyAlgorithm, AuditPlan, Entry, Varied

_ALL: tuple[AnyAlgorithm, ...] = (
    Algorithm(
        name="lloyd",
        title=lloyd.TITLE,
        estimator="Lloyd",
        place="dpviz.baselines.lloyd",
        Params=lloyd.Params,
        fit=lloyd.fit,
        steps=lloyd.steps,
        audit=AuditPlan(given={"n_iterations": 1}),
    ),
    Algorithm(
        name="blum",
        title=blum.TITLE,
        estimator="BLUM",
        place="dpviz.baselines.blum",
        Params=blum.Params,
        fit=blum.fit,
        steps=blum.steps,
        entries=(Entry("blum", "BLUM (SuLQ)", link=(("mode", "blum"),)),),
        audit=AuditPlan(given={"n_iterations": 1}, borders=({"n_clusters": 20},)),
    ),
    Algorithm(
        name="dwork",
        title=dwork.TITLE,
        estimator="DWORK",
        place="dpviz.baselines.dwork",
        Params=dwork.Params,
        fit=dwork.fit,
        steps=dwork.steps,
        entries=(Entry("dwork", "DWORK (halving)", link=(("mode", "dwork"),)),),
        audit=AuditPlan(given={"n_iterations": 1}, borders=({"n_clusters": 20},)),
    ),
    Algorithm(
        name="su",
        title=su.TITLE,
        estimator="DPLloyd",
        place="dpviz.baselines.su",
        Params=su.Params,
        fit=su.fit,
        steps=su.steps,
        entries=(Entry("su", "DPLloyd (SU)", link=(("mode", "su"),), on=True),),
        audit=AuditPlan(given={"n_iterations": 1}, borders=({"n_clusters": 20},)),
    ),
    Algorithm(
        name="gupt",
        title=gupt.TITLE,
        estimator="GUPT",
        place="dpviz.baselines.gupt",
        Params=gupt.Params,
        fit=gupt.fit,
        steps=gupt.steps,
        audit=AuditPlan(borders=({"n_clusters": 2},)),
        entries=(Entry("gupt", "GUPT", link=(("mode", "gupt"),)),),
    ),
    Algorithm(
        name="privgene",
        title=privgene.TITLE,
        estimator="PrivGene",
        place="dpviz.baselines.privgene",
        Params=privgene.Params,
        fit=privgene.fit,
        steps=privgene.steps,
        entries=(Entry("privgene", "PrivGene", link=(("mode", "privgene"),)),),
        audit=AuditPlan(given={"n_rounds": 2}, borders=({"n_clusters": 2},)),
    ),
    Algorithm(
        name="eugkm",
        title=eugkm.TITLE,
        estimator="EUGkM",
        place="dpviz.baselines.eugkm",
        Params=eugkm.Params,
        fit=eugkm.fit,
        steps=eugkm.steps,
        entries=(Entry("eugkm", "EUGkM (one grid)", link=(("mode", "eugkm"),), on=True),),
        varied=(
            Varied("cells", "Cells", "params.cells", ("largest", "published"), "eugkm"),
            Varied("grid", "Grid", "params.grid", ("fitted", "even"), "eugkm"),
        ),
        audit=AuditPlan(idle=frozenset({"cells"}), borders=({"n_clusters": 2},)),
    ),
    Algorithm(
        name="lsh_splits",
        title=lsh_splits.TITLE,
        estimator="LSHSplits",
        place="dpviz.baselines.lsh_splits",
        Params=lsh_splits.Params,
        fit=lsh_splits.fit,
        steps=lsh_splits.steps,
        entries=(Entry("lsh_splits", "LSH-Splits (slow)"),),
        audit=AuditPlan(given={"max_depth": 2}, borders=({"n_clusters": 2},)),
    ),
    Algorithm(
        name="em_mc",
        title=em_mc.TITLE,
        estimator="EMMC",
        place="dpviz.baselines.em_mc",
        Params=em_mc.Params,
        fit=em_mc.fit,
        steps=em_mc.steps,
        entries=(Entry("em_mc", "EM-MC"),),
        audit=AuditPlan(given={"n_scales": 1}, borders=({"n_clusters": 2},)),
    ),
)
CATALOGUE: Mapping[str, AnyAlgorithm] = MappingProxyType({algorithm.name: algorithm for algorithm in _ALL})

__all__ = ["CATALOGUE", "blum", "dwork", "em_mc", "eugkm", "gupt", "lloyd", "lsh_splits", "privgene", "su"]
