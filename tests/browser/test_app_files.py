"""A person's own file, by every way that a page offers: no file is lost, and no removed file stays."""

import base64
import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, Route, expect

from dpviz.methods import CATALOGUE
from tests.browser.servers import Server
from tests.browser.test_app import APP, behind
from tests.browser.test_app_compare import FEW
from tests.browser.test_app_uploads import behind_data, bound
from tests.browser.waiting import SLOW, at_rest

pytestmark = pytest.mark.still

PAGES = [*CATALOGUE, "compare", "audit"]
# Rows by file name.
FILES = {"first.csv": 200, "second.csv": 77}
DROP = """async ([zone, name, content]) => {
  const data = new DataTransfer(), bytes = Uint8Array.from(atob(content), (letter) => letter.charCodeAt(0));
  data.items.add(new File([bytes], name, {type: "text/csv"}));
  for (const kind of ["dragenter", "dragover", "drop"]) {
    zone.dispatchEvent(new DragEvent(kind, {dataTransfer: data, bubbles: true, cancelable: true}));
    await new Promise((done) => setTimeout(done, 100));  // a hand is slower
  }
}"""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("files")
    rng = np.random.default_rng(3)
    for name, n in FILES.items():
        rows = rng.uniform(0.0, 10.0, (n, 2))
        (folder / name).write_text("x,y\n" + "".join(f"{x:.3f},{y:.3f}\n" for x, y in rows), encoding="utf-8")
    return {name: folder / name for name in FILES}


def field(page: Page) -> Locator:
    """Return the field for a file, which is behind the data's button if there is a picture."""
    if not page.get_by_text(re.compile("Describe your data above|choose the file that this link")).count():
        behind(page, "data")
    return page.get_by_test_id("stFileUploader").filter(has_text="Your file")


def choose(page: Page, file: Path) -> None:
    """Give a file as a person does: by the field's button, and the system's own window."""
    button = field(page).get_by_role("button", name=re.compile("^Upload$|^Add files$"))
    with page.expect_file_chooser() as chooser:
        button.click(timeout=SLOW)
    chooser.value.set_files(file)


def drop(page: Page, file: Path) -> None:
    """Drag a file from another window onto the field."""
    zone = field(page).get_by_test_id("stFileUploaderDropzone").element_handle(timeout=SLOW)
    page.evaluate(DROP, [zone, file.name, base64.b64encode(file.read_bytes()).decode()])


GIVE = {"chosen": choose, "dropped": drop}


def expect_file(page: Page, file: Path) -> None:
    """Wait until the page has this file: its name on the data's button, and its number of rows next to the field."""
    said = page.get_by_text(re.compile(rf"{FILES[file.name]} rows, 2 columns"))
    button = page.locator(".st-key-dpviz-data button").first
    expect(button).to_contain_text(re.compile(rf"Data: {file.stem}"), timeout=SLOW)
    behind_data(page, said)
    expect(page.get_by_text("Connection error")).to_have_count(0)


def expect_picture(page: Page, file: Path) -> None:
    expect_file(page, file)
    expect(page.locator(".st-key-dpviz-form").get_by_text("Public bounds")).to_have_count(0, timeout=SLOW)
    behind_data(page, page.get_by_text(f"{FILES[file.name]} records, 2 features"))
    expect(page.locator("[data-testid=stException]")).to_have_count(0)


def described(page: Page, server: Server, name: str, files: dict[str, Path]) -> None:
    """Open a page at a picture of the first file, after the second has been described as well."""
    page.goto(f"{server(APP)}/{name}?{FEW}&compare_runs=10")
    expect(page.locator(".st-key-dpviz-data button").first).to_be_visible(timeout=SLOW)
    at_rest(page)
    behind(page, "data")
    page.get_by_role("button", name="Upload", exact=True).click(timeout=SLOW)
    expect(page.get_by_text("Describe your data above")).to_be_visible(timeout=SLOW)
    for each in reversed(files):
        choose(page, files[each])
        expect_file(page, files[each])
        bound(page, 0, 10)
        expect_picture(page, files[each])


def replace_often(page: Page, files: dict[str, Path], times: int) -> None:
    for turn in range(times):
        file = files[list(files)[(turn + 1) % 2]]
        # Give each file by each way, in four turns.
        GIVE[list(GIVE)[(turn + turn // 2) % 2]](page, file)
        expect_picture(page, file)


def test_a_file_is_replaced_under_its_picture_forgotten_when_it_is_taken_away_and_asked_for_by_its_link(
    page: Page, server: Server, files: dict[str, Path]
) -> None:
    described(page, server, "compare", files)
    replace_often(page, files, 2)
    held: list[Route] = []
    page.route(
        re.compile("/_stcore/upload_file/"),
        lambda route: held.append(route) if route.request.method == "PUT" else route.continue_(),
    )
    with page.expect_request(lambda request: request.method == "PUT"):
        choose(page, files["second.csv"])
    # The field's bar moves as long as the file is under way, so no rest can be waited for.
    page.wait_for_timeout(500)
    # The picture stays while the file is under way.
    expect(page.get_by_text(f"{FILES['first.csv']} records, 2 features")).to_be_attached()
    held[0].continue_()
    expect_picture(page, files["second.csv"])
    page.unroute_all(behavior="wait")

    field(page).get_by_role("button", name=re.compile("remove|delete", re.I)).click()
    expect(page.get_by_text("Describe your data above")).to_be_visible(timeout=SLOW)
    expect(page.get_by_text("It stays in this session's memory, on every page")).to_have_count(0)
    choose(page, files["second.csv"])
    expect_file(page, files["second.csv"])
    # The bounds went with the file.
    expect(page.get_by_text("Type both bounds of every feature")).to_be_visible()
    bound(page, 0, 10)
    expect_picture(page, files["second.csv"])
    give_again(page, files["second.csv"], "chosen")


def give_again(page: Page, file: Path, give: str) -> None:
    """Load the page again, which takes the file from the server, and give the file that its link asks for."""
    expect(page).to_have_url(re.compile(r"data=upload%3A[0-9a-f]+&"), timeout=SLOW)
    data = parse_qs(urlsplit(page.url).query)["data"]
    page.reload()
    expect(page.get_by_text(re.compile("choose the file that this link"))).to_be_visible(timeout=SLOW)
    GIVE[give](page, file)
    # The picture has the link's columns and bounds.
    expect_picture(page, file)
    expect(page).to_have_url(re.compile(r"data=upload%3A[0-9a-f]+&"), timeout=SLOW)
    assert parse_qs(urlsplit(page.url).query)["data"] == data


# Long runs only: the test above replaces a few files.
@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_no_file_of_a_hundred_is_lost_that_replaces_another(
    page: Page, server: Server, files: dict[str, Path], name: str
) -> None:
    described(page, server, name, files)
    replace_often(page, files, 100 // len(PAGES) + 1)
