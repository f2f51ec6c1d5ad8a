"""Synthetic scenes for the browser tests: every kind of mark, with any number of points and frames."""

import numpy as np

from dpviz.plots.scene import (
    GUIDE,
    LAW,
    MEMBERS,
    PUBLIC,
    REFUSED,
    RELEASED,
    SECRET,
    SECRET_NOISE,
    UNRELEASED,
    Audience,
    Axis,
    Frame,
    Kind,
    Layer,
    Role,
    Scene,
    always,
    rows_at,
)

N_GROUPS = 5


def everything(n: int = 600, n_frames: int = 7, seed: int = 0) -> Scene:
    """Return a scatter with every kind of mark that suits a scatter, over frames in which marks come, move and go."""
    rng = np.random.default_rng(seed)
    homes = np.array([[0.22, 0.25], [0.75, 0.3], [0.3, 0.75], [0.72, 0.74], [0.5, 0.5]])
    group = rng.integers(0, N_GROUPS, n)
    points = np.clip(homes[group] + rng.normal(0, 0.06, (n, 2)), 0, 1)
    everywhere = {"rows": always(n_frames), "isolate": True}
    steps = np.linspace(1, 0, n_frames)[:, None, None]
    exact = homes + steps * rng.normal(0, 0.12, (1, N_GROUPS, 2))
    released = exact + rng.normal(0, 0.03, exact.shape)
    radius = np.full((n_frames, N_GROUPS), 0.07)
    shown = np.arange(n_frames, dtype=np.int16)
    late = rows_at(n_frames, {frame: frame for frame in range(1, n_frames)})
    names = tuple(f"Center {i + 1}" for i in range(N_GROUPS))
    near = np.linspace(-1, 1, 25)
    bump = np.exp(-3 * (near[:, None] ** 2 + near**2))
    heat = np.broadcast_to((255 * bump).astype(np.uint8), (n_frames, N_GROUPS, 25, 25))
    cells = {"center": released, "radius": radius * 1.2, "value": heat}
    circles = {"center": exact, "radius": radius * 0.6}
    rare = rows_at(n_frames, {n_frames - 1: 0})
    marks, one = {"isolate": True, "names": names}, np.array([[[0.9, 0.1]]])
    pairs = np.array([[[0.1, 0.9, 0.3, 0.75], [np.nan] * 4]])
    make = Layer.from_arrays
    layers = (
        make(
            "Records", Kind.POINTS, MEMBERS, {"xy": points[None], "group": group[None].astype(np.uint8)}, **everywhere
        ),
        make("What may come out", Kind.HEAT, LAW, cells, late, isolate=True),
        make("Zones", Kind.CIRCLES, PUBLIC, {"center": released, "radius": radius}, shown, isolate=True, fill=0.06),
        make("Balls around the means", Kind.CIRCLES, SECRET, circles, shown, isolate=True),
        make("Path of the centers", Kind.TRAILS, RELEASED, released, shown, isolate=True),
        make("Noise", Kind.ARROWS, SECRET_NOISE, {"tail": exact, "head": released}, late, isolate=True, size=2),
        make("Pairs", Kind.SEGMENTS, GUIDE, {"ends": pairs}, always(n_frames)),
        make("True averages", Kind.MARKS, SECRET, exact, shown, symbol="ring", **marks),
        make("Released centers", Kind.MARKS, RELEASED, released, shown, **marks),
        make("A refused step", Kind.MARKS, REFUSED, one, rare, symbol="cross"),
    )
    frames = tuple(
        Frame(f"Iteration {i} of {n_frames - 1}", f"The centers have moved {i} times.") for i in range(n_frames)
    )
    return Scene(
        title="",
        alt=f"{n} records in five clusters and five released centers.",
        caption="Five clusters. Gray is secret, blue is released.",
        x=Axis("bill length", "mm", (-0.04, 1.04), (30, 60)),
        y=Axis("flipper length", "mm", (-0.04, 1.04), (170, 235)),
        layers=layers,
        frames=frames,
        group_names=tuple(f"Cluster {i + 1}" for i in range(N_GROUPS)),
    )


def chart(n_frames: int = 7) -> Scene:
    """Return a line chart with bars and a cursor that follows another picture's frames."""
    x = np.linspace(0, 1, n_frames)
    cost = np.stack([np.exp(-3 * x), 0.2 + 0.6 * np.exp(-2 * x)])
    curves = np.stack([np.broadcast_to(x, cost.shape), cost], axis=-1)
    bars = np.array([[[0.1 * i, 0, 0.1 * i + 0.08, 0.05 + 0.03 * i] for i in range(8)]])
    everywhere = always(n_frames)
    make = Layer.from_arrays
    return Scene(
        title="Cost per iteration",
        alt="Two falling curves.",
        caption="The cost falls.",
        x=Axis("iteration", "", (0, 1), (0, n_frames - 1)),
        y=Axis("cost", "mm\u00b2", (0, 1.05), (0, 12_000)),
        layers=(
            make("Counts", Kind.BARS, SECRET, {"rect": bars}, everywhere, isolate=True, fill=0.15),
            make("Lloyd without noise", Kind.LINES, UNRELEASED, curves[None, :1], everywhere, dash=True),
            make("Released", Kind.LINES, RELEASED, curves[None, 1:], everywhere),
            make("Now", Kind.CURSOR, PUBLIC, {"x": x}, np.arange(n_frames, dtype=np.int16), isolate=True, legend=False),
        ),
        frames=(Frame(""),) * n_frames,
        equal=False,
        scrubber=False,
    )


def hostile() -> Scene:
    """Return a scene in which every text tries to be markup."""
    text = '<img src=x onerror="globalThis.hacked = 1"><b>bold</b><script>globalThis.hacked = 1</script>'
    made = {"audience": Audience.CURATOR, "rows": always(1)}
    middle = {"xy": np.full((1, 1, 2), 0.5)}
    marks = Layer(f"Marks {text}", Kind.MARKS, Role.RELEASED, arrays=middle, names=(text,), **made)
    corner = {"xy": np.full((1, 3, 2), 0.25), "group": np.zeros((1, 3), dtype=np.uint8)}
    points = Layer(f"Points {text}", Kind.POINTS, Role.CLUSTER, arrays=corner, **made)
    axis = Axis(text, text)
    return Scene(text, text, text, axis, axis, (marks, points), (Frame(text, text),), group_names=(text,))


def tradeoff() -> Scene:
    """Return curves with bands over a logarithmic axis, each with its marks, and bars; all but one can be picked."""
    epsilon = np.geomspace(0.05, 20, 13)
    x = np.log10(epsilon / 0.05) / np.log10(400)
    everywhere = always(1)
    layers = []
    for name, role, cost in (("First method", Role.RELEASED, 1.5), ("Second method", Role.NOISE, 6.0)):
        middle = np.log10(cost / epsilon + 0.02)
        low, high = middle - 0.2, middle + 0.25
        low[6] = np.nan if role is Role.NOISE else low[6]
        shared = {"role": role, "audience": Audience.RELEASED, "rows": everywhere, "isolate": False, "pick": name[0]}
        curve = np.stack([x, middle / 4 + 0.5], axis=-1)[None, None]
        edges = np.stack([x, low / 4 + 0.5, high / 4 + 0.5], axis=-1)[None, None]
        layers.append(Layer(name, Kind.LINES, arrays={"xy": curve}, size=2, names=(f"{name}, 40 runs",), **shared))
        layers.append(Layer(f"{name}: 8 runs in 10", Kind.BANDS, arrays={"edges": edges}, fill=0.18, **shared))
    reference = np.array([[[[0, 0.3], [1, 0.3]]]])
    layers.append(
        Layer("No noise", Kind.LINES, Role.REFERENCE, Audience.CURATOR, {"xy": reference}, everywhere, isolate=False)
    )
    return Scene(
        title="Cost against privacy",
        alt="Two falling curves with bands.",
        caption="Both axes are logarithmic.",
        x=Axis("\u03b5", "", (-0.03, 1.03), (np.log10(0.05), np.log10(20)), log=True),
        y=Axis("cost", "mm\u00b2", (0, 1), (-2, 2), log=True),
        layers=tuple(layers),
        equal=False,
    )


def filled() -> Scene:
    """Return a grid of cells over iterations, a small grid in a different color, bars, and marks that can be picked."""
    rng = np.random.default_rng(0)
    value = (255 * rng.random((1, 1, 6, 10)) ** 2).astype(np.uint8)
    value[0, 0, 0, 0], value[0, 0, 5, 9] = 255, 0
    fine = np.linspace(0, 255, 40 * 40).reshape(1, 1, 40, 40).astype(np.uint8)
    everywhere = always(1)
    shared = {"audience": Audience.RELEASED, "rows": everywhere, "isolate": False}
    cells = {"rect": np.array([[[0.0, 0, 0.6, 0.8]]]), "value": value}
    fines = {"rect": np.array([[[0.65, 0, 0.95, 0.3]]]), "value": fine}
    bars = {"rect": np.array([[[0.65, 0.4, 0.75, 0.7], [0.8, 0.4, 0.9, 0.55]]])}
    stop = {"xy": np.array([[[0.7, 0.9]]])}
    layers = (
        Layer("Counts", Kind.GRID, Role.RELEASED, arrays=cells, **shared),
        Layer("Fine", Kind.GRID, Role.NOISE, arrays=fines, **shared),
        Layer("Chosen", Kind.BARS, Role.PUBLIC, arrays=bars, fill=0.3, pick="bars", **shared),
        Layer("Stop", Kind.MARKS, Role.VIOLATION, arrays=stop, pick="stop", **shared),
    )
    return Scene(
        title="Cells",
        alt="Two grids of cells.",
        caption="Darker cells hold more.",
        x=Axis("iteration", "", (0, 1), (0, 10), whole=True),
        y=Axis("share", "", (0, 1), (0, 1)),
        layers=layers,
        equal=False,
    )
