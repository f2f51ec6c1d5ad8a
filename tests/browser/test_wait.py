"""The line that asks the page again when the picture has changed."""

import pytest
from playwright.sync_api import Page

from dpviz.assets import module

pytestmark = pytest.mark.browser

ASKED = """async ([script, late]) => {
  const source = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
  const { default: mount } = await import(source);
  const parentElement = document.body.appendChild(document.createElement("div"));
  const rest = () => new Promise((done) => setTimeout(done, 100));
  let asked = 0;
  const data = { asked: 0, done: 5, all: 5, what: "runs", follow: "picture", peek: "", said: null, share: null,
    every: 20, quiet: 50, redrawn: 20 };
  const told = () => mount({ parentElement, data, setTriggerValue: () => { asked += 1; } });
  told();
  await rest();
  const before = asked;
  dispatchEvent(new CustomEvent("dpviz:drawn", { detail: { key: "another" } }));
  await rest();
  const another = asked;
  dispatchEvent(new CustomEvent("dpviz:drawn", { detail: { key: "picture" } }));
  if (late) told();
  await rest();
  return [before, another, asked];
}"""


@pytest.mark.parametrize("late", [False, True], ids=["in time", "late"])
def test_a_new_picture_is_asked_for_also_when_an_answer_for_the_one_before_is_late(page: Page, late: bool) -> None:
    assert page.evaluate(ASKED, [module("wait"), late]) == [0, 0, 1]


UNSEEN = """async (script) => {
  const source = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
  const { default: mount } = await import(source);
  document.body.innerHTML = "<div style='height: 300vh'></div>";
  const parentElement = document.body.appendChild(document.createElement("div"));
  const rest = () => new Promise((done) => setTimeout(done, 100));
  const asked = [];
  const data = { asked: 1, done: 0, all: 5, what: "runs", follow: "picture", peek: "", said: null, share: null,
    every: 50, quiet: 20, redrawn: 20, unseen: true };
  const setTriggerValue = (name) => {
    asked.push(name);
    if (name === "seen") data.unseen = false;
    else data.done = 5;
    setTimeout(() => mount({ parentElement, data, setTriggerValue }));
  };
  mount({ parentElement, data, setTriggerValue });
  dispatchEvent(new CustomEvent("dpviz:moving"));
  dispatchEvent(new CustomEvent("dpviz:drawn", { detail: { key: "picture" } }));
  await rest();
  parentElement.scrollIntoView();
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  scrollTo(0, 0);  // it came by
  await rest();
  const above = [...asked];
  parentElement.scrollIntoView();
  await rest();
  await rest();
  return [above, asked];
}"""


def test_a_line_that_nobody_sees_asks_for_nothing_until_it_is_in_sight(page: Page) -> None:
    assert page.evaluate(UNSEEN, module("wait")) == [[], ["seen", "tick"]]
