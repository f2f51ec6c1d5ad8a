"""Estimator classes made from methods' records: one class for each, with the method's parameters as its own.

`__init__` is one function with a signature written from the parameters, as scikit-learn, `help` and editors read it:
scikit-learn asks `inspect.signature`, so that `get_params`, `set_params` and `clone` need nothing else. Type checkers
read the same signatures from `__init__.pyi`, which `python -m tests.estimator_stub` writes.
"""

import dataclasses
import inspect
import textwrap
from collections.abc import Iterator
from typing import Any

from dpviz.core import AnyAlgorithm, FloatArray, Knob, knobs
from dpviz.estimators.base import PrivateCentersClusterer, PrivateClusterer, PrivateEstimator, PrivateTransformer

WIDTH = 116  # of a docstring's lines
OWN = {
    "bounds": "Public bounds of the data, ((low, ...), (high, ...)), (low, high) for all features, or a Box. Records "
    'outside are moved onto the wall. "data" takes them from the records, which is not private: it warns, and '
    "nothing is proved then.",
    "random_state": "None: secret noise from the operating system, never the same again. An int or a Generator "
    "repeats a run, and whoever knows or guesses it can take the noise away: for teaching and tests.",
}
ATTRIBUTES = {
    PrivateEstimator: {
        "release_": "what may be published",
        "guarantee_": "what is claimed, what is proved, and its caveats",
        "epsilon_spent_": "proved epsilon of the release; inf where nothing is proved",
        "box_": "the public box",
        "n_features_in_": "number of features",
        "feature_names_in_": "their names, where X had names",
    },
    PrivateClusterer: {
        "cluster_centers_": "(k, d), from the release",
        "labels_": "(n,) clusters of the records of `fit`: exact, for the curator. Publish `release_`. "
        "A pickle leaves them out: `predict` finds them again.",
    },
}


def make(algorithm: AnyAlgorithm) -> type[PrivateEstimator]:
    """Return the estimator of a method."""
    # What each record is released by itself as is a moved record; all others release clusters.
    kind: type[PrivateEstimator] = PrivateCentersClusterer
    if algorithm.audit.by_record:
        kind = PrivateTransformer
    elif algorithm.clustered is not None or algorithm.targets is not None:
        kind = PrivateClusterer
    name = algorithm.estimator or "".join(part.capitalize() for part in algorithm.name.split("_"))
    own = {
        "algorithm": algorithm,
        "__init__": _init(algorithm),
        "__doc__": _doc(algorithm, kind),
        "__module__": "dpviz.estimators",
    }
    return type(name, (kind,), own)


def parameters(algorithm: AnyAlgorithm) -> Iterator[inspect.Parameter]:
    """Yield the parameters of a method's estimator: its own by name, `n_clusters` also by its place, and `bounds`."""
    own = sorted(dataclasses.fields(algorithm.Params), key=lambda each: each.name != "n_clusters")
    for field in own:
        by_place = field.name == "n_clusters"
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD if by_place else inspect.Parameter.KEYWORD_ONLY
        default = inspect.Parameter.empty if field.default is dataclasses.MISSING else field.default
        yield inspect.Parameter(field.name, kind, default=default, annotation=_annotation(field))
    only = inspect.Parameter.KEYWORD_ONLY
    yield inspect.Parameter("bounds", only, annotation="Bounds")
    yield inspect.Parameter("random_state", only, default=None, annotation="RandomState")


def _init(algorithm: AnyAlgorithm) -> Any:
    itself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    signature = inspect.Signature([itself, *parameters(algorithm)], return_annotation=None)

    def keep(*given: Any, **named: Any) -> None:
        bound = signature.bind(*given, **named)
        bound.apply_defaults()
        itself, *values = bound.arguments.items()
        for name, value in values:
            setattr(itself[1], name, value)

    keep.__name__ = "__init__"
    keep.__doc__ = "Keep the parameters; they are checked by `fit`."
    keep.__signature__ = signature  # type: ignore[attr-defined]  # what `inspect` asks for
    return keep


def _annotation(field: "dataclasses.Field[Any]") -> str:
    """Return the type of a parameter as a person would write it, and as it stands in the stub."""
    knob = field.metadata.get("knob")
    if isinstance(knob, Knob) and knob.kind == "choice":
        return f"Literal{[value for value, _ in knob.choices]}"
    return inspect.formatannotation(field.type).replace(inspect.formatannotation(FloatArray), "FloatArray")


def _doc(algorithm: AnyAlgorithm, kind: type[PrivateEstimator]) -> str:
    told = {knob.name: " ".join((f"{knob.label}.", knob.help)) for knob in knobs(algorithm.Params)} | OWN
    lines = [f"{algorithm.title} as a scikit-learn estimator.", "", "Parameters", "----------"]
    for each in parameters(algorithm):
        lines += [each.name, *_indented(told.get(each.name, f"See `{algorithm.place}.Params`."))]
    lines += ["", "Attributes", "----------"]
    for base, found in ATTRIBUTES.items():
        if issubclass(kind, base):
            lines += [line for name, text in found.items() for line in (name, *_indented(text))]
    return "\n".join(lines) + "\n"


def _indented(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent="    ", subsequent_indent="    ")
