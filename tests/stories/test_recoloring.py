import numpy as np

from dpviz.data import load
from dpviz.solvers import assign
from dpviz.stories.center_facts import recolored


def test_each_pixel_wears_the_color_of_its_nearest_center():
    image = load("image")
    colors = image.image.colors
    centers = np.array([[20.4, 30.0, 40.0], [200.6, 180.0, 90.0], [120.0, 260.0, -3.0]])
    painted = recolored(centers, assign(image.points, centers), colors.shape)
    assert painted.shape == colors.shape
    assert painted.dtype == np.uint8
    for row, column in ((0, 0), (5, 7), (106, 159), (60, 33)):
        nearest = np.square(colors[row, column] - centers).sum(axis=1).argmin()
        wanted = [(20, 30, 40), (201, 180, 90), (120, 255, 0)][nearest]
        assert tuple(painted[row, column]) == wanted


def test_as_many_centers_as_colors_give_the_picture_back():
    rng = np.random.default_rng(0)
    colors = rng.integers(0, 256, (4, 6, 3))
    flat = colors.reshape(-1, 3).astype(float)
    assert np.array_equal(recolored(flat, np.arange(24), (4, 6, 3)), colors)
