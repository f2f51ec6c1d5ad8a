"""Figures for print: their width, their type size, and their files."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpviz
from dpviz.plots.paper import DPI, POINTS, Figure
from dpviz.plots.svg import FONT


@pytest.fixture(scope="module")
def scene():
    return dpviz.run("dplloyd", dpviz.load("blobs", n=100, seed=1), seed=1).picture().public()


@given(st.sampled_from(sorted(POINTS)), st.floats(1.0, 3.0), st.floats(5.0, 14.0))
def test_type_has_its_size_at_the_figure_s_width(scene, unit, times, size):
    width = f"{max(times * 260.0, 220.0 * size / FONT) / POINTS[unit]:.6f}{unit}"
    drawn = Figure(scene, width, size, legend=False).svg
    (number, of) = re.search(r'<svg [^>]*width="([\d.]+)([a-z]+)"', drawn).groups()
    across = int(re.search(r'viewBox="0 0 (\d+) ', drawn)[1])
    assert f"{number}{of}" == width
    # A unit of the drawing is a point of `points / across`; the drawing's whole number rounds by half a unit.
    points = float(number) * POINTS[of] / across
    assert FONT * points == pytest.approx(size, rel=0.51 / across)


def test_words_and_legend_are_left_out_where_they_are_not_wanted(scene):
    whole = Figure(scene, "4in", notes=("A promise.",)).svg
    bare = Figure(scene, "4in", notes=None, legend=False).svg
    assert "A promise." in whole
    assert whole.count("<text") > bare.count("<text")
    assert scene.caption.split()[0] not in re.sub(r"<desc>.*?</desc>", "", bare)


@pytest.mark.parametrize("width", ["", "3", 3.3, "3 miles", "-3in", "0.3in", "in"])
def test_a_width_that_is_none_is_refused(scene, width):
    with pytest.raises(ValueError, match="width must be a length"):
        Figure(scene, width)


def test_a_figure_becomes_three_kinds_of_files(scene, tmp_path):
    figure = Figure(scene, "3.3in")
    for ending, magic in (("svg", b"<svg"), ("pdf", b"%PDF"), ("png", b"\x89PNG")):
        figure.save(tmp_path / f"figure.{ending}")
        assert (tmp_path / f"figure.{ending}").read_bytes().startswith(magic)
    wide = int.from_bytes((tmp_path / "figure.png").read_bytes()[16:20], "big")
    assert wide == pytest.approx(3.3 * DPI, abs=1)
    with pytest.raises(ValueError, match="must end in svg, pdf or png"):
        figure.save(tmp_path / "figure.tiff")
    with pytest.raises(ValueError, match="got 99"):
        Figure(scene, "3.3in", frame=99)
