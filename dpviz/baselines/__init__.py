"""Methods that the papers' own are compared with; the same protocol as an algorithm: TITLE, Params, fit, steps."""

from types import MappingProxyType, ModuleType

from dpviz.baselines import blum, dwork, em_mc, eugkm, gupt, lloyd, lsh_splits, privgene, su

CATALOGUE: MappingProxyType[str, ModuleType] = MappingProxyType(
    {
        "lloyd": lloyd,
        "blum": blum,
        "dwork": dwork,
        "su": su,
        "gupt": gupt,
        "privgene": privgene,
        "eugkm": eugkm,
        "lsh_splits": lsh_splits,
        "em_mc": em_mc,
    }
)

__all__ = [
    "CATALOGUE",
    "blum",
    "dwork",
    "em_mc",
    "eugkm",
    "gupt",
    "lloyd",
    "lsh_splits",
    "privgene",
    "su",
]
