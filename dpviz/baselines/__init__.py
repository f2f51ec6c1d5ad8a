"""Methods that the papers' own are compared with; the same protocol as an algorithm: TITLE, Params, fit, steps."""

from types import MappingProxyType, ModuleType

from dpviz.baselines import blum, dwork, eugkm, gupt, lloyd, privgene, su

CATALOGUE: MappingProxyType[str, ModuleType] = MappingProxyType(
    {
        "lloyd": lloyd,
        "blum": blum,
        "dwork": dwork,
        "su": su,
        "gupt": gupt,
        "privgene": privgene,
        "eugkm": eugkm,
    }
)

__all__ = ["CATALOGUE", "blum", "dwork", "eugkm", "gupt", "lloyd", "privgene", "su"]
