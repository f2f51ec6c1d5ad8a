"""Colors are distinct from each other and from their background, for every kind of eye."""

import itertools

import numpy as np
import pytest

from dpviz.plots.theme import DARK, LIGHT, rgb

# Machado, Oliveira & Fernandes (2009), severity 1: linear red, green, blue as seen without one kind of cone.
EYES = {
    "all cones": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
# Ottosson (2020), OKLab: equal distances look equally far. A just noticeable difference is about 0.02.
CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)
# Minimum contrast from WCAG 2.2, success criterion 1.4.11.
LEAST_CONTRAST = 3.0
# Pairs of: two roles, a cluster and a role, two clusters -> least distance for all cones, for fewer.
LEAST = {"roles": (0.12, 0.07), "mixed": (0.09, 0.045), "clusters": (0.09, 0.045)}


def linear(color):
    part = np.array(rgb(color)) / 255
    return np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)


def lab(color, eye):
    return LAB @ np.cbrt(CONES @ np.clip(EYES[eye] @ linear(color), 0, 1))


def contrast(one, other):
    low, high = sorted(float(linear(each) @ [0.2126, 0.7152, 0.0722]) for each in (one, other))
    return (high + 0.05) / (low + 0.05)


def too_near(roles, clusters):
    """Return the pairs that some eye may confuse."""
    named = [*((f"{role}", color, True) for role, color in roles.items()), *((each, each, False) for each in clusters)]
    found = []
    for (one, color, is_role), (other, second, also_role) in itertools.combinations(named, 2):
        kind = "roles" if is_role and also_role else "mixed" if is_role or also_role else "clusters"
        for eye in EYES:
            least = LEAST[kind][eye != "all cones"]
            distance = float(np.linalg.norm(lab(color, eye) - lab(second, eye)))
            if distance < least:
                found.append((one, other, eye, round(distance, 3), least))
    return found


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_no_color_is_taken_for_another_one(theme):
    assert too_near(theme.roles, theme.clusters) == []


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_every_color_stands_out_from_the_background(theme):
    assert theme.background == {"light": "#ffffff", "dark": "#161c25"}[theme.name]
    assert len(set(theme.clusters)) == 10
    faint = {each: contrast(each, theme.background) for each in (*theme.roles.values(), *theme.clusters)}
    assert {each: ratio for each, ratio in faint.items() if ratio < LEAST_CONTRAST} == {}


def test_what_is_too_near_is_found():
    """The test refuses the old colors: sky blue with released blue, and a green that turns gray without its cones."""
    found = too_near({"exact": "#6b7280", "released": "#0072b2", "public": "#12875d"}, ("#56b4e9", "#4fb296"))
    assert ("exact", "public", "deuteranopia", 0.052, 0.07) in found
    assert ("released", "public") in {pair[:2] for pair in found}
    assert contrast("#56b4e9", "#ffffff") < LEAST_CONTRAST
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    np.testing.assert_allclose(lab("#ffffff", "all cones"), [1, 0, 0], atol=1e-6)
