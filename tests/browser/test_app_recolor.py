"""A photograph beside itself in the colors of the released centers."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Server
from tests.browser.test_app import switch

pytestmark = pytest.mark.browser

COLORS = """image => {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight];
  const ctx = canvas.getContext("2d");
  ctx.drawImage(image, 0, 0);
  const { data } = ctx.getImageData(0, 0, canvas.width, canvas.height);
  const seen = new Set();
  for (let i = 0; i < data.length; i += 4) seen.add(`${data[i]} ${data[i + 1]} ${data[i + 2]}`);
  return [canvas.width, canvas.height, seen.size];
}"""


# Long runs only: tests/stories recolor, and tests/pages check that the public gets no photograph.
@pytest.mark.slow
def test_a_photograph_stands_beside_itself_in_released_colors_and_the_public_sees_neither(
    page: Page, server: Server
) -> None:
    page.goto(f"{server('app.py')}/convergent_kmeans?data=image&n_clusters=6&tab=read&audience=curator")
    pictures = page.locator("[data-testid=stImage] img")
    expect(pictures).to_have_count(2, timeout=60_000)
    page.wait_for_timeout(1000)
    photo, painted = (pictures.nth(i) for i in range(2))
    left, right = photo.bounding_box(), painted.bounding_box()
    assert left is not None
    assert right is not None
    assert left["y"] == pytest.approx(right["y"], abs=2)
    assert left["x"] + left["width"] < right["x"]
    (width, height, many), (same_width, same_height, few) = photo.evaluate(COLORS), painted.evaluate(COLORS)
    assert (width, height) == (same_width, same_height)
    assert few <= 6 < many
    before = painted.get_attribute("src")
    page.get_by_role("slider", name="ε").first.press("ArrowLeft")
    expect(painted).not_to_have_attribute("src", before or "", timeout=15_000)
    expect(page.get_by_text("Recolored with the released centers")).to_be_visible()
    switch(page, "Everyone")
    expect(page).to_have_url(re.compile("audience=public"), timeout=15_000)
    expect(page.locator("[data-testid=stImage] img")).to_have_count(0)
