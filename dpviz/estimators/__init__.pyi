from collections.abc import Mapping
from typing import Literal

import dpviz.core.box
import dpviz.methods.dpm.algorithm.plan
from dpviz.accounting.budgets import BudgetError as BudgetError
from dpviz.core import FloatArray
from dpviz.estimators.base import Bounds, PrivateCentersClusterer, RandomState
from dpviz.estimators.base import PrivacyLeakWarning as PrivacyLeakWarning
from dpviz.estimators.base import PrivateClusterer as PrivateClusterer
from dpviz.estimators.base import PrivateEstimator as PrivateEstimator
from dpviz.estimators.base import PrivateTransformer as PrivateTransformer

ESTIMATORS: Mapping[str, type[PrivateEstimator]]

class ConvergentKMeans(PrivateCentersClusterer):
    """Convergent k-means as a scikit-learn estimator. Its parameters are told by `help`."""

    def __init__(
        self,
        n_clusters: int = 5,
        *,
        mode: Literal["repaired", "published"] = "repaired",
        orientation: Literal["past", "future"] = "past",
        epsilon: float = 1.0,
        epsilon_per_iteration: float = 0.5,
        epsilon_counts: float = 0.5,
        start: Literal["packing", "private", "records"] = "packing",
        initial_centers: FloatArray | None = None,
        max_iterations: int = 30,
        n_iterations: int | None = None,
        tolerance: float = 0.0,
        start_seed: int | None = None,
        bounds: Bounds,
        rows_per_person: int = 1,
        random_state: RandomState = None,
    ) -> None: ...

class DPM(PrivateCentersClusterer):
    """DPM as a scikit-learn estimator. Its parameters are told by `help`."""

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        calibration: Literal["repaired", "published"] = "repaired",
        t: float = 0.3,
        q: float = 0.08333333333333333,
        emptiness_weight: float = 5.0,
        delta: float | None = None,
        n_levels: int | None = None,
        shares: dpviz.methods.dpm.algorithm.plan.Shares | None = None,
        n_public: int | None = None,
        bounds: Bounds,
        rows_per_person: int = 1,
        random_state: RandomState = None,
    ) -> None: ...

class MorseClustering(PrivateClusterer):
    """Morse processing as a scikit-learn estimator. Its parameters are told by `help`."""

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        n_components: int = 22,
        epsilon: float = 1.0,
        delta: float = 0.0001,
        n_iterations: int = 10,
        base: Literal["dpmog_hard", "dpmog", "dplloyd_mog", "dpcube"] = "dpmog_hard",
        calibration: Literal["tight", "published"] = "tight",
        adjacency: Literal["add_remove", "replace"] = "add_remove",
        estimator: Literal["steady", "plain"] = "steady",
        bounds: Bounds,
        rows_per_person: int = 1,
        random_state: RandomState = None,
    ) -> None: ...

class NDLaplace(PrivateTransformer):
    """nD-Laplace as a scikit-learn estimator. Its parameters are told by `help`."""

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        domain: Literal["none", "clamp", "redraw", "remap"] = "none",
        remap: Literal["mean", "median", "nearest"] = "mean",
        unit: Literal["data", "range"] = "data",
        grid: FloatArray | None = None,
        prior: FloatArray | None = None,
        bounds: Bounds,
        rows_per_person: int = 1,
        random_state: RandomState = None,
    ) -> None: ...

class SourceTargetClustering(PrivateClusterer):
    """Source-target clustering as a scikit-learn estimator. Its parameters are told by `help`."""

    def __init__(
        self,
        *,
        targets: FloatArray,
        n_centers: int = 10,
        epsilon: float | None = None,
        delta: float | None = None,
        rho: float | None = None,
        method: Literal["nna", "nas"] = "nna",
        noise: Literal["laplace", "gaussian"] = "laplace",
        calibration: Literal["published", "tight"] = "published",
        threshold: Literal["published", "lemma"] = "published",
        gamma: float = 0.05,
        t: int = 150,
        coreset_radius: float = 0.05,
        solver: Literal["fasterpam", "akm", "greedy"] = "fasterpam",
        ball: dpviz.core.box.Ball | None = None,
        bounds: Bounds,
        rows_per_person: int = 1,
        random_state: RandomState = None,
    ) -> None: ...

class Lloyd(PrivateCentersClusterer):
    """Lloyd (not private) as a scikit-learn estimator. Its parameters are told by `help`."""

    def __init__(
        self,
        n_clusters: int = 5,
        *,
        start_seed: int | None = None,
        start: Literal["packing", "records"] = "packing",
        initial_centers: FloatArray | None = None,
        n_iterations: int | None = None,
        bounds: Bounds,
        rows_per_person: int = 1,
        random_state: RandomState = None,
    ) -> None: ...

class BLUM(PrivateCentersClusterer):
    """BLUM (SuLQ) as a scikit-learn estimator. Its parameters are told by `help`."""

    def __init__(
        self,
        n_clusters: int = 5,
        *,
        start_seed: int | None = None,
        start: Literal["packing", "private", "records"] = "packing",
        initial_centers: FloatArray | None = None,
        n_iterations: int | None = None,
        epsilon: float = 1.0,
        adjacency: Literal["add_remove", "replace"] = "add_remove",
        bounds: Bounds,
        rows_per_person: int = 1,
        random_state: RandomState = None,
    ) -> None: ...

class DWORK(PrivateCentersClusterer):
    """DWORK (halving) as a scikit-learn estimator. Its parameters are told by `help`."""

    def __init__(
        self,
        n_clusters: int = 5,
        *,
        start_seed: int | None = None,
        start: Literal["packing", "private", "records"] = "packing",
        initial_centers: FloatArray | None = None,
        n_iterations: int | None = None,
        epsilon: float = 1.0,
        adjacency: Literal["add_remove", "replace"] = "add_remove",
        bounds: Bounds,
        rows_per_person: int = 1,
        random_state: RandomState = None,
    ) -> None: ...

class DPLloyd(PrivateCentersClusterer):
    """DPLloyd as a scikit-learn estimator. Its parameters are told by `help`."""

    def __init__(
        self,
        n_clusters: int = 5,
        *,
        start_seed: int | None = None,
        start: Literal["packing", "private", "records"] = "packing",
        initial_centers: FloatArray | None = None,
        n_iterations: int | None = None,
        epsilon: float = 1.0,
        adjacency: Literal["add_remove", "replace"] = "add_remove",
        n_public: int | None = None,
        bounds: Bounds,
        rows_per_person: int = 1,
        random_state: RandomState = None,
    ) -> None: ...

class FastLloyd(PrivateCentersClusterer):
    """FastLloyd as a scikit-learn estimator. Its parameters are told by `help`."""

    def __init__(
        self,
        n_clusters: int = 5,
        *,
        start_seed: int | None = None,
        start: Literal["packing", "private", "records"] = "packing",
        initial_centers: FloatArray | None = None,
        n_iterations: int | None = None,
        epsilon: float = 1.0,
        adjacency: Literal["add_remove", "replace"] = "add_remove",
        alpha: float = 0.8,
        n_public: int | None = None,
        delta: float | None = None,
        bounds: Bounds,
        rows_per_person: int = 1,
        random_state: RandomState = None,
    ) -> None: ...

class GUPT(PrivateCentersClusterer):
    """GUPT as a scikit-learn estimator. Its parameters are told by `help`."""

    def __init__(
        self,
        n_clusters: int = 5,
        *,
        start_seed: int | None = None,
        epsilon: float = 1.0,
        adjacency: Literal["add_remove", "replace"] = "add_remove",
        n_public: int | None = None,
        max_iterations: int = 100,
        n_blocks: int | None = None,
        bounds: Bounds,
        rows_per_person: int = 1,
        random_state: RandomState = None,
    ) -> None: ...

class PrivGene(PrivateCentersClusterer):
    """PrivGene as a scikit-learn estimator. Its parameters are told by `help`."""

    def __init__(
        self,
        n_clusters: int = 5,
        *,
        start_seed: int | None = None,
        epsilon: float = 1.0,
        adjacency: Literal["add_remove", "replace"] = "add_remove",
        n_public: int | None = None,
        population: int = 100,
        n_parents: int = 3,
        max_rounds: int = 20,
        n_rounds: int | None = None,
        bounds: Bounds,
        rows_per_person: int = 1,
        random_state: RandomState = None,
    ) -> None: ...

class EUGkM(PrivateCentersClusterer):
    """EUGkM (noisy grid) as a scikit-learn estimator. Its parameters are told by `help`."""

    def __init__(
        self,
        n_clusters: int = 5,
        *,
        start_seed: int | None = None,
        epsilon: float = 1.0,
        adjacency: Literal["add_remove", "replace"] = "add_remove",
        n_public: int | None = None,
        cells: Literal["largest", "published"] = "largest",
        grid: Literal["nested", "fitted", "even"] = "nested",
        cells_per_axis: int | None = None,
        bounds: Bounds,
        rows_per_person: int = 1,
        random_state: RandomState = None,
    ) -> None: ...

class LSHSplits(PrivateCentersClusterer):
    """LSH-Splits as a scikit-learn estimator. Its parameters are told by `help`."""

    def __init__(
        self,
        n_clusters: int = 5,
        *,
        start_seed: int | None = None,
        epsilon: float = 1.0,
        adjacency: Literal["add_remove", "replace"] = "add_remove",
        n_public: int | None = None,
        delta: float | None = None,
        max_depth: int = 20,
        bounds: Bounds,
        rows_per_person: int = 1,
        random_state: RandomState = None,
    ) -> None: ...

class EMMC(PrivateCentersClusterer):
    """EM-MC as a scikit-learn estimator. Its parameters are told by `help`."""

    def __init__(
        self,
        n_clusters: int = 5,
        *,
        start_seed: int | None = None,
        epsilon: float = 1.0,
        adjacency: Literal["add_remove", "replace"] = "add_remove",
        n_public: int | None = None,
        delta: float | None = None,
        n_axes: int = 3,
        n_scales: int = 4,
        bounds: Bounds,
        rows_per_person: int = 1,
        random_state: RandomState = None,
    ) -> None: ...

class DPEM(PrivateCentersClusterer):
    """DP-EM (mixture) as a scikit-learn estimator. Its parameters are told by `help`."""

    def __init__(
        self,
        n_clusters: int = 5,
        *,
        start_seed: int | None = None,
        epsilon: float = 1.0,
        adjacency: Literal["add_remove", "replace"] = "add_remove",
        n_public: int | None = None,
        delta: float | None = None,
        n_iterations: int | None = None,
        bounds: Bounds,
        rows_per_person: int = 1,
        random_state: RandomState = None,
    ) -> None: ...
