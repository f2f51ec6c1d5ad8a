import dataclasses
import json

import numpy as np
import pytest

from dpviz.plots import (
    Audience,
    Axis,
    Frame,
    Kind,
    Layer,
    Role,
    Scene,
    StageWords,
    always,
    pack,
    read_header,
    rows_at,
    scene_hash,
)
from dpviz.plots.scene import ALIGNMENT, LAW, PACK_VERSION, PUBLIC, SECRET, Lens

R, M, FRAMES = 3, 4, 5
# Required arrays of each mark, written again from the module's table of kinds.
SHAPES = {
    Kind.POINTS: {"xy": (1, 7, 2), "group": (R, 7)},
    Kind.MARKS: {"xy": (R, M, 2)},
    Kind.CIRCLES: {"center": (R, M, 2), "radius": (R, M)},
    Kind.ARROWS: {"tail": (R, M, 2), "head": (R, M, 2)},
    Kind.SEGMENTS: {"ends": (R, M, 4)},
    Kind.TRAILS: {"xy": (R, M, 2)},
    Kind.HEAT: {"center": (R, M, 2), "radius": (R, M), "value": (R, M, 5, 5)},
    Kind.LINES: {"xy": (R, M, 6, 2)},
    Kind.BARS: {"rect": (R, M, 4)},
    Kind.BANDS: {"edges": (R, M, 6, 3)},
    Kind.GRID: {"rect": (R, M, 4), "value": (R, M, 3, 5)},
    Kind.CURSOR: {"x": (R,)},
    Kind.LIGHT: {"xy": (R, M, 2), "fixed_xy": (1, 5, 2), "zones": (1, 3)},
    Kind.ENSEMBLE: {"xy": (R, 8, M, 2)},
}
BYTES = {"group", "value"}


def arrays(kind, seed=0):
    rng = np.random.default_rng(seed)
    return {
        name: rng.integers(0, 256, shape).astype(np.uint8) if name in BYTES else rng.random(shape)
        for name, shape in SHAPES[kind].items()
    }


def layer(kind=Kind.MARKS, audience=Audience.RELEASED, **changes):
    made = {"name": f"a {kind.value}", "kind": kind, "role": Role.RELEASED, "audience": audience}
    return Layer(**{**made, "arrays": arrays(kind), "rows": rows_at(FRAMES, {0: 0, 4: 2}), **changes})


def scene(*layers, **changes):
    made = {"title": "title", "alt": "alt", "caption": "caption", "x": Axis("across", "m"), "y": Axis("up")}
    frames = tuple(Frame(f"frame {i}", f"detail {i}") for i in range(FRAMES))
    return Scene(**{**made, "layers": layers, "frames": frames, "group_names": ("one", "two"), **changes})


def every_kind():
    return scene(*(layer(kind) for kind in Kind))


def read(packed):
    """Read a packed scene as a browser does; return the header and {(layer, array): values}."""
    length = int.from_bytes(packed[:4], "little")
    header, start = json.loads(packed[4 : 4 + length]), 4 + length
    found = {}
    for i, one in enumerate(header["layers"]):
        for name, where in one["arrays"].items():
            assert (start + where["offset"]) % ALIGNMENT == 0
            count = int(np.prod(where["shape"]))
            values = np.frombuffer(packed, where["dtype"], count, start + where["offset"])
            found[i, name] = values.reshape(where["shape"])
    return header, found


def digest(told):
    return read_header(pack(told))["hash"]


def test_the_kinds_of_this_file_are_all_there_are():
    assert set(SHAPES) == set(Kind)


def test_packed_arrays_are_read_back_equal():
    told = every_kind()
    packed = pack(told)
    header, found = read(packed)
    assert header == read_header(packed)
    assert header["version"] == PACK_VERSION
    assert len(packed) % ALIGNMENT == 0
    for i, one in enumerate(told.layers):
        assert header["layers"][i]["rows"] == one.rows.tolist()
        for name, values in one.arrays.items():
            wanted = np.float32 if values.dtype.kind == "f" else values.dtype
            assert found[i, name].dtype == wanted
            assert np.array_equal(found[i, name], values.astype(wanted))


def test_arrays_lie_one_behind_the_other():
    packed = pack(every_kind())
    header, found = read(packed)
    end = 0
    for i, one in enumerate(header["layers"]):
        for name, where in sorted(one["arrays"].items(), key=lambda pair: pair[1]["offset"]):
            assert where["offset"] == end
            end += found[i, name].nbytes + -found[i, name].nbytes % ALIGNMENT
    assert 4 + int.from_bytes(packed[:4], "little") + end == len(packed)


def test_arrays_that_are_not_contiguous_and_nan_travel_too():
    xy = np.random.default_rng(0).random((2, M, R)).T  # (R, M, 2), last axis slowest
    xy[1, 1] = np.nan
    _, found = read(pack(scene(layer(arrays={"xy": xy}))))
    assert np.array_equal(found[0, "xy"], xy.astype(np.float32), equal_nan=True)


def test_a_scene_without_layers_is_packed():
    header, found = read(pack(scene()))
    assert header["layers"] == []
    assert found == {}


def test_words_travel_as_they_are():
    words = '<b>"ε"</b>\n\\u0000 ü 𝔹'
    header = read_header(pack(scene(layer(name=words, names=(words,)), title=words, alt=words, caption=words)))
    assert header["title"] == header["alt"] == header["caption"] == words
    assert header["layers"][0]["name"] == header["layers"][0]["names"][0] == words


def test_equal_scenes_have_one_hash_and_the_same_bytes():
    assert pack(every_kind()) == pack(every_kind())
    assert digest(every_kind()) == digest(every_kind())


@pytest.mark.parametrize("kind", list(Kind))
def test_any_changed_array_changes_the_hash(kind):
    before = digest(scene(layer(kind)))
    for name in SHAPES[kind]:
        changed = arrays(kind)
        changed[name].reshape(-1)[-1] += 1
        assert digest(scene(layer(kind, arrays=changed))) != before, name


# A different value for each field of a layer and of a scene.
OTHER = {
    "layer": {
        "name": "other",
        "kind": Kind.TRAILS,
        "role": Role.NOISE,
        "audience": Audience.PUBLIC,
        "arrays": arrays(Kind.MARKS, seed=1),
        "rows": always(FRAMES),
        "symbol": "cross",
        "size": 7.0,
        "dash": True,
        "fill": 0.5,
        "names": ("other",),
        "legend": False,
        "isolate": False,
        "pick": "other",
        "hue": 3,
        "shown": False,
        "total": 7,
        "glides": "place",
        "ids": tuple(range(M)),
        "hub": "other",
        "label": "other",
    },
    "scene": {
        "title": "other",
        "alt": "other",
        "caption": "other",
        "x": Axis("across", "m", view=(0.0, 2.0)),
        "y": Axis("up", values=(0.0, 2.0)),
        "layers": (),
        "frames": (Frame("other"),),
        "start_frame": 1,
        "equal": False,
        "scrubber": False,
        "group_names": ("two", "one"),
        "pace": 100.0,
        "eased": False,
        "solid": (30.0, 20.0),
        "hint": "other",
        "place": (48.0, 12.0),
        "stage": StageWords("other"),
        "lens": Lens((0.5, 0.5), 0.1, *(np.zeros((2, 2)) for _ in range(4)), 0.7, "other"),
    },
}


@pytest.mark.parametrize("field", [field.name for field in dataclasses.fields(Layer)])
def test_any_changed_word_of_a_layer_changes_the_hash(field):
    assert digest(scene(layer(**{field: OTHER["layer"][field]}))) != digest(scene(layer()))


# These fields decide the result of `public`.
UNPACKED = ("axes_public", "public_caption", "public_stage")


@pytest.mark.parametrize("field", [field.name for field in dataclasses.fields(Scene) if field.name not in UNPACKED])
def test_any_changed_word_of_a_scene_changes_the_hash(field):
    assert digest(scene(layer(), **{field: OTHER["scene"][field]})) != digest(scene(layer()))


@pytest.mark.parametrize("field", [field.name for field in dataclasses.fields(Axis)])
def test_any_changed_word_of_an_axis_changes_the_hash(field):
    words = {"label": "o", "unit": "o", "view": (0.0, 3.0), "values": (0.0, 3.0), "ends": (0.0, 3.0)}
    other = {**words, "ticks": False, "log": True, "whole": True, "names": ("other",)}[field]
    assert digest(scene(x=Axis(**{"label": "across", field: other}))) != digest(scene(x=Axis("across")))


@pytest.mark.parametrize("kind", list(Kind))
def test_a_layer_without_its_arrays_is_refused(kind):
    for name in SHAPES[kind]:
        missing = {key: value for key, value in arrays(kind).items() if key != name}
        with pytest.raises(ValueError, match=rf"'{name}' of .*a {kind.value}.*got nothing"):
            layer(kind, arrays=missing)
        flat = {**arrays(kind), name: arrays(kind)[name][None]}
        with pytest.raises(ValueError, match=rf"'{name}' of .*axes, got shape \(1, "):
            layer(kind, arrays=flat)


@pytest.mark.parametrize("rows", [[0, R], [-2, 0], [[0, 1]]])
def test_rows_that_do_not_exist_are_refused(rows):
    with pytest.raises(ValueError, match=f"rows of layer .* from -1 to {R - 1}, got shape"):
        layer(rows=np.array(rows, dtype=np.int16))


@pytest.mark.parametrize("ids", [(1,), (1, 2, 3, 3), (1, 2, 3, 4, 5)])
def test_ids_that_do_not_name_each_mark_are_refused(ids):
    with pytest.raises(ValueError, match=f"must be {M} different ids.* got {len(ids)}, of"):
        layer(ids=ids)
    assert layer(ids=tuple("abcd")).ids == ("a", "b", "c", "d")


def test_rows_are_named_by_frame_and_the_rest_is_hidden():
    assert rows_at(4, {1: 0, 3: 2}).tolist() == [-1, 0, -1, 2]
    assert always(3).tolist() == [0, 0, 0]
    for made in (rows_at(2, {}), always(2)):
        assert made.dtype == np.int16
        assert not made.flags.writeable


def test_a_picture_s_directory_takes_no_other_records():
    """Words and axes are written as their fields; a whole scene among them would also bring its secrets."""
    with pytest.raises(TypeError, match="axes and texts only"):
        pack(scene(layer(), stage=scene(layer(audience=Audience.CURATOR))))


def test_a_cursor_alone_is_an_empty_picture():
    assert scene().is_empty
    assert scene(layer(Kind.CURSOR)).is_empty
    assert not scene(layer(Kind.CURSOR), layer()).is_empty
    assert scene(layer(audience=Audience.CURATOR)).public().is_empty


def test_the_curators_cloud_takes_the_place_of_the_publics():
    clouds = [layer(Kind.ENSEMBLE, each, name=each.value) for each in (Audience.NOISE, Audience.CURATOR)]
    told = scene(clouds[0], layer(audience=Audience.CURATOR), clouds[1])
    assert told.seen_layers == told.layers[1:]
    assert [each["name"] for each in read_header(pack(told))["layers"]] == ["a marks", "curator"]
    assert [each.layer.name for each in told.visible(0)] == ["a marks", "curator"]
    assert told.public().seen_layers == (clouds[0],)
    assert scene(clouds[0], layer(audience=Audience.CURATOR)).seen_layers[0] is clouds[0], "none of the curator's"


def test_points_lose_color_where_an_ensemble_of_as_many_says_so():
    drains = [np.arange(n, dtype=np.uint8)[None] for n in (7, 6)]
    xy = arrays(Kind.ENSEMBLE)["xy"]
    right, wrong = (layer(Kind.ENSEMBLE, arrays={"xy": xy, "drain": drain}, name="c") for drain in drains)
    points = layer(Kind.POINTS, name="p")
    for ensemble, drained in ((right, True), (wrong, False)):
        told = scene(points, ensemble, layer(Kind.POINTS, name="more", arrays=arrays(Kind.POINTS, seed=1)))
        found = {each.layer.name: each.drain for each in told.visible(0)}
        assert found["c"] is None
        assert (found["p"] is not None) == (found["more"] is not None) == drained
        assert all(each.drain is None for each in told.visible(0, hidden=["c"]))
    assert np.array_equal(scene(points, right).visible(0)[0].drain, drains[0][0])


@pytest.mark.parametrize("axes_public", [True, False])
@pytest.mark.parametrize("words", ["", "What the public reads."])
def test_the_public_reads_its_own_caption_and_sees_no_curators_layer(axes_public, words):
    layers = [layer(audience=audience) for audience in Audience]
    made = scene(*layers, public_caption=words, axes_public=axes_public)
    public = made.public()
    assert public.caption == (words or made.caption)
    assert (public.words, public.live_words) == (public.caption, public.caption)
    assert all(each.audience is not Audience.CURATOR for each in public.layers)
    assert len(public.layers) == (len(Audience) - 1 if axes_public else 0)
    assert (public.x.label, public.y.label) == ((made.x.label, made.y.label) if axes_public else ("", ""))
    assert scene_hash(public.public()) == scene_hash(public)


def test_a_layer_from_an_ink_is_the_one_from_all_of_its_fields():
    own = arrays(Kind.CIRCLES)
    whole = Layer("a", Kind.CIRCLES, Role.NOISE, Audience.NOISE, own, always(1), isolate=False, fill=0.5)
    curve = Layer("b", Kind.LINES, Role.EXACT, Audience.CURATOR, arrays(Kind.LINES), rows_at(3, {1: 2}), isolate=True)
    rule = Layer("c", Kind.CURSOR, Role.PUBLIC, Audience.PUBLIC, {"x": np.array([0.5])}, always(1), legend=False)
    short = (
        Layer.from_arrays("a", Kind.CIRCLES, LAW, own, fill=0.5),
        Layer.from_arrays("b", Kind.LINES, SECRET, curve.arrays["xy"], curve.rows, isolate=True),
        Layer.cursor("c", PUBLIC, 0.5),
    )
    assert [scene_hash(scene(each)) for each in short] == [scene_hash(scene(each)) for each in (whole, curve, rule)]
    with pytest.raises(ValueError, match="radius"):
        Layer.from_arrays("a", Kind.CIRCLES, LAW, {"center": own["center"]})
