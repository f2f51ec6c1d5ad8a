"""scikit-learn's own checks of estimators, and the few that a private method cannot pass, each with its reason."""

from typing import Any

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from dpviz.core import Box
from dpviz.estimators import ESTIMATORS, PrivateEstimator

BOUNDS = (-4.0, 4.0)
# Epsilon. The checks are about the interface, and one compares clusters of 50 records with the true ones.
ENOUGH = 1e4
# One method of every kind. The other methods differ only in parameters.
ALWAYS = ("dpm", "dplloyd", "morse", "nd_laplace", "source_target")
# Values that follow from the noisy number of records are useless for 50 records.
GIVEN: dict[str, dict[str, Any]] = {
    "dpm": {"n_levels": 3},
    "gupt": {"n_blocks": 1},
    "source_target": {"targets": [[0.0]], "n_centers": 3},
}
BY_PLACE = "Each row is moved by noise of its own, which a seed gives to the row's place and not to its values."
BESIDE = "Centers are chosen to serve targets that the records do not: they are far from the records on purpose."
EXPECTED = {
    "nd_laplace": {
        "check_methods_sample_order_invariance": BY_PLACE,
        "check_methods_subset_invariance": BY_PLACE,
    },
    "source_target": {"check_clustering": BESIDE},
}


class AnyTargets(ESTIMATORS["source_target"]):  # type: ignore[misc]
    """Source-target clustering with public targets for whatever number of features a check brings."""

    def _params(self, box: Box) -> Any:
        targets = box.from_unit(np.random.default_rng(0).random((30, box.d)))
        given = {name: getattr(self, name) for name in self.algorithm.parameters}
        return self.algorithm.Params(**given | {"targets": targets})


def checked(name: str) -> PrivateEstimator:
    made = AnyTargets if name == "source_target" else ESTIMATORS[name]
    epsilon = {"epsilon": ENOUGH} if "epsilon" in made.algorithm.parameters else {}
    return made(**epsilon, **GIVEN.get(name, {}), bounds=BOUNDS)


def expected_failures(estimator: PrivateEstimator) -> dict[str, str]:
    return EXPECTED.get(estimator.algorithm.name, {})


@parametrize_with_checks([checked(name) for name in ALWAYS], expected_failed_checks=expected_failures)
def test_it_is_a_scikit_learn_estimator(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [checked(name) for name in ESTIMATORS if name not in ALWAYS], expected_failed_checks=expected_failures
)
def test_so_are_all_others(estimator, check):
    check(estimator)


@pytest.mark.parametrize(("name", "failing"), [(name, each) for name, all_ in EXPECTED.items() for each in all_])
def test_a_check_that_is_said_to_fail_fails(name, failing):
    from sklearn.utils import estimator_checks

    with pytest.raises(AssertionError):
        getattr(estimator_checks, failing)(name, checked(name))
