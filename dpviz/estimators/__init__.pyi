from collections.abc import Mapping
from typing import Literal

import dpviz.core.ball
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
    """Convergent k-means as a scikit-learn estimator.

    Parameters
    ----------
    n_clusters
        Clusters k. How many centers to find.
    mode
        Mode. Repaired: the zones stand on noisy means and the guarantee is proved. Published: as in the paper.
    orientation
        Orientation. Where the zone points: along the last move (past), or towards Lloyd's next mean (future).
    epsilon
        Privacy budget ε. How much one record may change what is released; repaired mode spends no more. Smaller is more
        private.
    epsilon_per_iteration
        ε per step. Published mode spends this in every step. In repaired mode it is only the temperature inside a zone.
    epsilon_counts
        ε₀ of the final counts. Published mode's last step.
    start
        Start. Sphere packing looks at no record. The paper starts from k records, which switches every guarantee off.
    initial_centers
        See `dpviz.methods.convergent_kmeans.Params`.
    max_iterations
        Most iterations. Published mode stops here if not converged.
    n_iterations
        See `dpviz.methods.convergent_kmeans.Params`.
    tolerance
        See `dpviz.methods.convergent_kmeans.Params`.
    start_seed
        See `dpviz.methods.convergent_kmeans.Params`.
    bounds
        Public bounds of the data, ((low, ...), (high, ...)), (low, high) for all features, or a Box. Records outside
        are moved onto the wall. "data" takes them from the records, which is not private: it warns, and nothing is
        proved then.
    random_state
        None: secret noise from the operating system, never the same again. An int or a Generator repeats a run, and
        whoever knows or guesses it can take the noise away: for teaching and tests.

    Attributes
    ----------
    release_
        what may be published
    guarantee_
        what is claimed, what is proved, and its caveats
    epsilon_spent_
        proved epsilon of the release; inf where nothing is proved
    box_
        the public box
    n_features_in_
        number of features
    feature_names_in_
        their names, where X had names
    cluster_centers_
        (k, d), from the release
    labels_
        (n,) clusters of the records of `fit`: exact, for the curator. Publish `release_`, and neither `labels_` nor the
        fitted object.
    """

    def __init__(
        self,
        n_clusters: int = 5,
        *,
        mode: Literal["repaired", "published"] = "repaired",
        orientation: Literal["past", "future"] = "past",
        epsilon: float = 1.0,
        epsilon_per_iteration: float = 0.5,
        epsilon_counts: float = 0.5,
        start: Literal["packing", "records"] = "packing",
        initial_centers: FloatArray | None = None,
        max_iterations: int = 30,
        n_iterations: int | None = None,
        tolerance: float = 0.0,
        start_seed: int | None = None,
        bounds: Bounds,
        random_state: RandomState = None,
    ) -> None: ...

class DPM(PrivateCentersClusterer):
    """DPM as a scikit-learn estimator.

    Parameters
    ----------
    epsilon
        Privacy budget ε. How much one record may change what is released; the run spends all of it. Smaller is more
        private.
    calibration
        Calibration. Repaired: the guarantee is proved, depth and shares follow the noisy number of records. Published:
        as in the paper.
    t
        Centreness t. Centreness where the outer part ends; above 2q.
    q
        Outer part q. Share of the records at either end where splits are unwanted.
    emptiness_weight
        Weight of emptiness. How much an empty place counts against a central one, which counts once.
    delta
        See `dpviz.methods.dpm.Params`.
    n_levels
        See `dpviz.methods.dpm.Params`.
    shares
        See `dpviz.methods.dpm.Params`.
    n_public
        See `dpviz.methods.dpm.Params`.
    bounds
        Public bounds of the data, ((low, ...), (high, ...)), (low, high) for all features, or a Box. Records outside
        are moved onto the wall. "data" takes them from the records, which is not private: it warns, and nothing is
        proved then.
    random_state
        None: secret noise from the operating system, never the same again. An int or a Generator repeats a run, and
        whoever knows or guesses it can take the noise away: for teaching and tests.

    Attributes
    ----------
    release_
        what may be published
    guarantee_
        what is claimed, what is proved, and its caveats
    epsilon_spent_
        proved epsilon of the release; inf where nothing is proved
    box_
        the public box
    n_features_in_
        number of features
    feature_names_in_
        their names, where X had names
    cluster_centers_
        (k, d), from the release
    labels_
        (n,) clusters of the records of `fit`: exact, for the curator. Publish `release_`, and neither `labels_` nor the
        fitted object.
    """

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
        random_state: RandomState = None,
    ) -> None: ...

class MorseClustering(PrivateClusterer):
    """Morse processing as a scikit-learn estimator.

    Parameters
    ----------
    n_clusters
        Clusters K. Where the hierarchy is cut.
    n_components
        Components K₀. Small Gaussians that the clusters are built from.
    epsilon
        Privacy budget ε. For the whole run; the hierarchy is free.
    delta
        δ. How often the guarantee may fail; below 1/n.
    n_iterations
        Passes τ. Over the records; in DPCube, swaps. Each has a share of the budget.
    base
        Mixture. How the private mixture is made.
    calibration
        Noise. Tight: the least that this release needs. As published: the paper's formula.
    adjacency
        Neighbors. Which two data sets must look alike. The paper's noise is for changing one record.
    estimator
        Estimator. Steady: covariances lean on each other where noise drowns them. Plain: as in the paper. Both cost
        nothing.
    bounds
        Public bounds of the data, ((low, ...), (high, ...)), (low, high) for all features, or a Box. Records outside
        are moved onto the wall. "data" takes them from the records, which is not private: it warns, and nothing is
        proved then.
    random_state
        None: secret noise from the operating system, never the same again. An int or a Generator repeats a run, and
        whoever knows or guesses it can take the noise away: for teaching and tests.

    Attributes
    ----------
    release_
        what may be published
    guarantee_
        what is claimed, what is proved, and its caveats
    epsilon_spent_
        proved epsilon of the release; inf where nothing is proved
    box_
        the public box
    n_features_in_
        number of features
    feature_names_in_
        their names, where X had names
    cluster_centers_
        (k, d), from the release
    labels_
        (n,) clusters of the records of `fit`: exact, for the curator. Publish `release_`, and neither `labels_` nor the
        fitted object.
    """

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
        random_state: RandomState = None,
    ) -> None: ...

class NDLaplace(PrivateTransformer):
    """nD-Laplace as a scikit-learn estimator.

    Parameters
    ----------
    epsilon
        ε per unit of distance. Two places d apart can be told apart by a factor of e^(ε d) at most. It means nothing
        without the unit.
    domain
        Points outside the box. What happens to a point that the noise moves out of the public box.
    remap
        Remap to. Under the posterior: its mean is best for squared error, its median for distance. Nearest: the grid
        place.
    unit
        Distance is measured in. Features of different units need a common one: divide each by its public range.
    grid
        See `dpviz.methods.nd_laplace.Params`.
    prior
        See `dpviz.methods.nd_laplace.Params`.
    bounds
        Public bounds of the data, ((low, ...), (high, ...)), (low, high) for all features, or a Box. Records outside
        are moved onto the wall. "data" takes them from the records, which is not private: it warns, and nothing is
        proved then.
    random_state
        None: secret noise from the operating system, never the same again. An int or a Generator repeats a run, and
        whoever knows or guesses it can take the noise away: for teaching and tests.

    Attributes
    ----------
    release_
        what may be published
    guarantee_
        what is claimed, what is proved, and its caveats
    epsilon_spent_
        proved epsilon of the release; inf where nothing is proved
    box_
        the public box
    n_features_in_
        number of features
    feature_names_in_
        their names, where X had names
    """

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
        random_state: RandomState = None,
    ) -> None: ...

class SourceTargetClustering(PrivateClusterer):
    """Source-target clustering as a scikit-learn estimator.

    Parameters
    ----------
    targets
        See `dpviz.methods.source_target.Params`.
    n_centers
        Centers k. How many targets to choose as new centers.
    epsilon
        See `dpviz.methods.source_target.Params`.
    delta
        See `dpviz.methods.source_target.Params`.
    rho
        See `dpviz.methods.source_target.Params`.
    method
        Method. NNA: mean of the records nearest to each target. NAS: mean of each target's t nearest records.
    noise
        Noise. Laplace gives pure ε; Gaussian needs δ or ρ.
    calibration
        Calibration. As published: the paper's formula. Tight: the least that this release needs.
    threshold
        Threshold. From which noisy count NNA releases a cell's mean. The lemma's is higher and refuses more empty
        cells.
    gamma
        γ. How often an empty cell may pass NNA's threshold, or noise may pass NAS's bound.
    t
        Neighbours t. How many records NAS averages.
    coreset_radius
        Coreset radius C. Targets this near share one average, in diameters of the ball; 0: each target has its own.
    solver
        Selection. How the centers are chosen beside the released points.
    ball
        See `dpviz.methods.source_target.Params`.
    bounds
        Public bounds of the data, ((low, ...), (high, ...)), (low, high) for all features, or a Box. Records outside
        are moved onto the wall. "data" takes them from the records, which is not private: it warns, and nothing is
        proved then.
    random_state
        None: secret noise from the operating system, never the same again. An int or a Generator repeats a run, and
        whoever knows or guesses it can take the noise away: for teaching and tests.

    Attributes
    ----------
    release_
        what may be published
    guarantee_
        what is claimed, what is proved, and its caveats
    epsilon_spent_
        proved epsilon of the release; inf where nothing is proved
    box_
        the public box
    n_features_in_
        number of features
    feature_names_in_
        their names, where X had names
    cluster_centers_
        (k, d), from the release
    labels_
        (n,) clusters of the records of `fit`: exact, for the curator. Publish `release_`, and neither `labels_` nor the
        fitted object.
    """

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
        ball: dpviz.core.ball.Ball | None = None,
        bounds: Bounds,
        random_state: RandomState = None,
    ) -> None: ...

class Lloyd(PrivateCentersClusterer):
    """Lloyd (not private) as a scikit-learn estimator.

    Parameters
    ----------
    n_clusters
        Clusters k. How many centers to find.
    start_seed
        See `dpviz.baselines.lloyd.Params`.
    start
        Start. Sphere packing looks at no record. Starting from k records switches every guarantee off.
    initial_centers
        See `dpviz.baselines.lloyd.Params`.
    n_iterations
        See `dpviz.baselines.lloyd.Params`.
    bounds
        Public bounds of the data, ((low, ...), (high, ...)), (low, high) for all features, or a Box. Records outside
        are moved onto the wall. "data" takes them from the records, which is not private: it warns, and nothing is
        proved then.
    random_state
        None: secret noise from the operating system, never the same again. An int or a Generator repeats a run, and
        whoever knows or guesses it can take the noise away: for teaching and tests.

    Attributes
    ----------
    release_
        what may be published
    guarantee_
        what is claimed, what is proved, and its caveats
    epsilon_spent_
        proved epsilon of the release; inf where nothing is proved
    box_
        the public box
    n_features_in_
        number of features
    feature_names_in_
        their names, where X had names
    cluster_centers_
        (k, d), from the release
    labels_
        (n,) clusters of the records of `fit`: exact, for the curator. Publish `release_`, and neither `labels_` nor the
        fitted object.
    """

    def __init__(
        self,
        n_clusters: int = 5,
        *,
        start_seed: int | None = None,
        start: Literal["packing", "records"] = "packing",
        initial_centers: FloatArray | None = None,
        n_iterations: int | None = None,
        bounds: Bounds,
        random_state: RandomState = None,
    ) -> None: ...

class BLUM(PrivateCentersClusterer):
    """SuLQ k-means as a scikit-learn estimator.

    Parameters
    ----------
    n_clusters
        Clusters k. How many centers to find.
    start_seed
        See `dpviz.baselines.blum.Params`.
    start
        Start. Sphere packing looks at no record. Starting from k records switches every guarantee off.
    initial_centers
        See `dpviz.baselines.blum.Params`.
    n_iterations
        See `dpviz.baselines.blum.Params`.
    epsilon
        Privacy budget ε. All that a whole run may spend. Smaller is more private.
    adjacency
        Neighbours. Which two data sets must look alike. Changing one record keeps their number, so it is public.
    bounds
        Public bounds of the data, ((low, ...), (high, ...)), (low, high) for all features, or a Box. Records outside
        are moved onto the wall. "data" takes them from the records, which is not private: it warns, and nothing is
        proved then.
    random_state
        None: secret noise from the operating system, never the same again. An int or a Generator repeats a run, and
        whoever knows or guesses it can take the noise away: for teaching and tests.

    Attributes
    ----------
    release_
        what may be published
    guarantee_
        what is claimed, what is proved, and its caveats
    epsilon_spent_
        proved epsilon of the release; inf where nothing is proved
    box_
        the public box
    n_features_in_
        number of features
    feature_names_in_
        their names, where X had names
    cluster_centers_
        (k, d), from the release
    labels_
        (n,) clusters of the records of `fit`: exact, for the curator. Publish `release_`, and neither `labels_` nor the
        fitted object.
    """

    def __init__(
        self,
        n_clusters: int = 5,
        *,
        start_seed: int | None = None,
        start: Literal["packing", "records"] = "packing",
        initial_centers: FloatArray | None = None,
        n_iterations: int | None = None,
        epsilon: float = 1.0,
        adjacency: Literal["add_remove", "replace"] = "add_remove",
        bounds: Bounds,
        random_state: RandomState = None,
    ) -> None: ...

class DWORK(PrivateCentersClusterer):
    """Halving budgets as a scikit-learn estimator.

    Parameters
    ----------
    n_clusters
        Clusters k. How many centers to find.
    start_seed
        See `dpviz.baselines.dwork.Params`.
    start
        Start. Sphere packing looks at no record. Starting from k records switches every guarantee off.
    initial_centers
        See `dpviz.baselines.dwork.Params`.
    n_iterations
        See `dpviz.baselines.dwork.Params`.
    epsilon
        Privacy budget ε. All that a whole run may spend. Smaller is more private.
    adjacency
        Neighbours. Which two data sets must look alike. Changing one record keeps their number, so it is public.
    bounds
        Public bounds of the data, ((low, ...), (high, ...)), (low, high) for all features, or a Box. Records outside
        are moved onto the wall. "data" takes them from the records, which is not private: it warns, and nothing is
        proved then.
    random_state
        None: secret noise from the operating system, never the same again. An int or a Generator repeats a run, and
        whoever knows or guesses it can take the noise away: for teaching and tests.

    Attributes
    ----------
    release_
        what may be published
    guarantee_
        what is claimed, what is proved, and its caveats
    epsilon_spent_
        proved epsilon of the release; inf where nothing is proved
    box_
        the public box
    n_features_in_
        number of features
    feature_names_in_
        their names, where X had names
    cluster_centers_
        (k, d), from the release
    labels_
        (n,) clusters of the records of `fit`: exact, for the curator. Publish `release_`, and neither `labels_` nor the
        fitted object.
    """

    def __init__(
        self,
        n_clusters: int = 5,
        *,
        start_seed: int | None = None,
        start: Literal["packing", "records"] = "packing",
        initial_centers: FloatArray | None = None,
        n_iterations: int | None = None,
        epsilon: float = 1.0,
        adjacency: Literal["add_remove", "replace"] = "add_remove",
        bounds: Bounds,
        random_state: RandomState = None,
    ) -> None: ...

class DPLloyd(PrivateCentersClusterer):
    """DPLloyd as a scikit-learn estimator.

    Parameters
    ----------
    n_clusters
        Clusters k. How many centers to find.
    start_seed
        See `dpviz.baselines.su.Params`.
    start
        Start. Sphere packing looks at no record. Starting from k records switches every guarantee off.
    initial_centers
        See `dpviz.baselines.su.Params`.
    n_iterations
        See `dpviz.baselines.su.Params`.
    epsilon
        Privacy budget ε. All that a whole run may spend. Smaller is more private.
    adjacency
        Neighbours. Which two data sets must look alike. Changing one record keeps their number, so it is public.
    n_public
        See `dpviz.baselines.su.Params`.
    bounds
        Public bounds of the data, ((low, ...), (high, ...)), (low, high) for all features, or a Box. Records outside
        are moved onto the wall. "data" takes them from the records, which is not private: it warns, and nothing is
        proved then.
    random_state
        None: secret noise from the operating system, never the same again. An int or a Generator repeats a run, and
        whoever knows or guesses it can take the noise away: for teaching and tests.

    Attributes
    ----------
    release_
        what may be published
    guarantee_
        what is claimed, what is proved, and its caveats
    epsilon_spent_
        proved epsilon of the release; inf where nothing is proved
    box_
        the public box
    n_features_in_
        number of features
    feature_names_in_
        their names, where X had names
    cluster_centers_
        (k, d), from the release
    labels_
        (n,) clusters of the records of `fit`: exact, for the curator. Publish `release_`, and neither `labels_` nor the
        fitted object.
    """

    def __init__(
        self,
        n_clusters: int = 5,
        *,
        start_seed: int | None = None,
        start: Literal["packing", "records"] = "packing",
        initial_centers: FloatArray | None = None,
        n_iterations: int | None = None,
        epsilon: float = 1.0,
        adjacency: Literal["add_remove", "replace"] = "add_remove",
        n_public: int | None = None,
        bounds: Bounds,
        random_state: RandomState = None,
    ) -> None: ...

class GUPT(PrivateCentersClusterer):
    """GUPT (sample and aggregate) as a scikit-learn estimator.

    Parameters
    ----------
    n_clusters
        Clusters k. How many centers to find.
    start_seed
        See `dpviz.baselines.gupt.Params`.
    epsilon
        Privacy budget ε. All that a whole run may spend. Smaller is more private.
    adjacency
        Neighbours. Which two data sets must look alike. Changing one record keeps their number, so it is public.
    n_public
        See `dpviz.baselines.gupt.Params`.
    max_iterations
        Most iterations. Lloyd's, inside each block.
    n_blocks
        See `dpviz.baselines.gupt.Params`.
    bounds
        Public bounds of the data, ((low, ...), (high, ...)), (low, high) for all features, or a Box. Records outside
        are moved onto the wall. "data" takes them from the records, which is not private: it warns, and nothing is
        proved then.
    random_state
        None: secret noise from the operating system, never the same again. An int or a Generator repeats a run, and
        whoever knows or guesses it can take the noise away: for teaching and tests.

    Attributes
    ----------
    release_
        what may be published
    guarantee_
        what is claimed, what is proved, and its caveats
    epsilon_spent_
        proved epsilon of the release; inf where nothing is proved
    box_
        the public box
    n_features_in_
        number of features
    feature_names_in_
        their names, where X had names
    cluster_centers_
        (k, d), from the release
    labels_
        (n,) clusters of the records of `fit`: exact, for the curator. Publish `release_`, and neither `labels_` nor the
        fitted object.
    """

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
        random_state: RandomState = None,
    ) -> None: ...

class PrivGene(PrivateCentersClusterer):
    """PrivGene (genetic) as a scikit-learn estimator.

    Parameters
    ----------
    n_clusters
        Clusters k. How many centers to find.
    start_seed
        See `dpviz.baselines.privgene.Params`.
    epsilon
        Privacy budget ε. All that a whole run may spend. Smaller is more private.
    adjacency
        Neighbours. Which two data sets must look alike. Changing one record keeps their number, so it is public.
    n_public
        See `dpviz.baselines.privgene.Params`.
    population
        Candidates m. Sets of centers in each round.
    n_parents
        Parents m'. Picked in each round but the last.
    max_rounds
        Most rounds. A bound on r.
    n_rounds
        See `dpviz.baselines.privgene.Params`.
    bounds
        Public bounds of the data, ((low, ...), (high, ...)), (low, high) for all features, or a Box. Records outside
        are moved onto the wall. "data" takes them from the records, which is not private: it warns, and nothing is
        proved then.
    random_state
        None: secret noise from the operating system, never the same again. An int or a Generator repeats a run, and
        whoever knows or guesses it can take the noise away: for teaching and tests.

    Attributes
    ----------
    release_
        what may be published
    guarantee_
        what is claimed, what is proved, and its caveats
    epsilon_spent_
        proved epsilon of the release; inf where nothing is proved
    box_
        the public box
    n_features_in_
        number of features
    feature_names_in_
        their names, where X had names
    cluster_centers_
        (k, d), from the release
    labels_
        (n,) clusters of the records of `fit`: exact, for the curator. Publish `release_`, and neither `labels_` nor the
        fitted object.
    """

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
        random_state: RandomState = None,
    ) -> None: ...

class EUGkM(PrivateCentersClusterer):
    """EUGkM (one grid) as a scikit-learn estimator.

    Parameters
    ----------
    n_clusters
        Clusters k. How many centers to find.
    start_seed
        See `dpviz.baselines.eugkm.Params`.
    epsilon
        Privacy budget ε. All that a whole run may spend. Smaller is more private.
    adjacency
        Neighbours. Which two data sets must look alike. Changing one record keeps their number, so it is public.
    n_public
        See `dpviz.baselines.eugkm.Params`.
    cells
        Cells that weigh. The largest noisy counts, until they hold the noisy number of records; or every positive one,
        which lets the noise of empty space in.
    cells_per_axis
        See `dpviz.baselines.eugkm.Params`.
    bounds
        Public bounds of the data, ((low, ...), (high, ...)), (low, high) for all features, or a Box. Records outside
        are moved onto the wall. "data" takes them from the records, which is not private: it warns, and nothing is
        proved then.
    random_state
        None: secret noise from the operating system, never the same again. An int or a Generator repeats a run, and
        whoever knows or guesses it can take the noise away: for teaching and tests.

    Attributes
    ----------
    release_
        what may be published
    guarantee_
        what is claimed, what is proved, and its caveats
    epsilon_spent_
        proved epsilon of the release; inf where nothing is proved
    box_
        the public box
    n_features_in_
        number of features
    feature_names_in_
        their names, where X had names
    cluster_centers_
        (k, d), from the release
    labels_
        (n,) clusters of the records of `fit`: exact, for the curator. Publish `release_`, and neither `labels_` nor the
        fitted object.
    """

    def __init__(
        self,
        n_clusters: int = 5,
        *,
        start_seed: int | None = None,
        epsilon: float = 1.0,
        adjacency: Literal["add_remove", "replace"] = "add_remove",
        n_public: int | None = None,
        cells: Literal["largest", "published"] = "largest",
        cells_per_axis: int | None = None,
        bounds: Bounds,
        random_state: RandomState = None,
    ) -> None: ...

class LSHSplits(PrivateCentersClusterer):
    """LSH-Splits as a scikit-learn estimator.

    Parameters
    ----------
    n_clusters
        Clusters k. How many centers to find.
    start_seed
        See `dpviz.baselines.lsh_splits.Params`.
    epsilon
        Privacy budget ε. All that a whole run may spend. Smaller is more private.
    adjacency
        Neighbours. Which two data sets must look alike. Changing one record keeps their number, so it is public.
    n_public
        See `dpviz.baselines.lsh_splits.Params`.
    delta
        See `dpviz.baselines.lsh_splits.Params`.
    max_depth
        Deepest level. Levels of hyperplanes. Each is paid for, reached or not.
    bounds
        Public bounds of the data, ((low, ...), (high, ...)), (low, high) for all features, or a Box. Records outside
        are moved onto the wall. "data" takes them from the records, which is not private: it warns, and nothing is
        proved then.
    random_state
        None: secret noise from the operating system, never the same again. An int or a Generator repeats a run, and
        whoever knows or guesses it can take the noise away: for teaching and tests.

    Attributes
    ----------
    release_
        what may be published
    guarantee_
        what is claimed, what is proved, and its caveats
    epsilon_spent_
        proved epsilon of the release; inf where nothing is proved
    box_
        the public box
    n_features_in_
        number of features
    feature_names_in_
        their names, where X had names
    cluster_centers_
        (k, d), from the release
    labels_
        (n,) clusters of the records of `fit`: exact, for the curator. Publish `release_`, and neither `labels_` nor the
        fitted object.
    """

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
        random_state: RandomState = None,
    ) -> None: ...

class EMMC(PrivateCentersClusterer):
    """EM-MC (max cover) as a scikit-learn estimator.

    Parameters
    ----------
    n_clusters
        Clusters k. How many centers to find.
    start_seed
        See `dpviz.baselines.em_mc.Params`.
    epsilon
        Privacy budget ε. All that a whole run may spend. Smaller is more private.
    adjacency
        Neighbours. Which two data sets must look alike. Changing one record keeps their number, so it is public.
    n_public
        See `dpviz.baselines.em_mc.Params`.
    delta
        See `dpviz.baselines.em_mc.Params`.
    n_axes
        Axes of the grid. Random axes that candidates lie along.
    n_scales
        Scales. Grids of 4, 8, 16, ... cells along each axis.
    bounds
        Public bounds of the data, ((low, ...), (high, ...)), (low, high) for all features, or a Box. Records outside
        are moved onto the wall. "data" takes them from the records, which is not private: it warns, and nothing is
        proved then.
    random_state
        None: secret noise from the operating system, never the same again. An int or a Generator repeats a run, and
        whoever knows or guesses it can take the noise away: for teaching and tests.

    Attributes
    ----------
    release_
        what may be published
    guarantee_
        what is claimed, what is proved, and its caveats
    epsilon_spent_
        proved epsilon of the release; inf where nothing is proved
    box_
        the public box
    n_features_in_
        number of features
    feature_names_in_
        their names, where X had names
    cluster_centers_
        (k, d), from the release
    labels_
        (n,) clusters of the records of `fit`: exact, for the curator. Publish `release_`, and neither `labels_` nor the
        fitted object.
    """

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
        random_state: RandomState = None,
    ) -> None: ...
