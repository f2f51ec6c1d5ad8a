"""The line that asks the page again when the picture has changed."""

import pytest
from playwright.sync_api import Page

from dpviz.assets import module

# The line below the fold of a page; the waits are longer than its own.
MOUNTED = """
  const source = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
  const { default: mount } = await import(source);
  document.body.innerHTML = "<div style='height: 300vh'></div>";
  const parentElement = document.body.appendChild(document.createElement("div"));
  const rest = () => new Promise((done) => setTimeout(done, 100));
  const drawn = (key) => dispatchEvent(new CustomEvent("dpviz:drawn", { detail: { key } }));
  const data = { asked: 0, done: 5, all: 5, what: "runs", follow: "picture", peek: "", said: null, share: null,
    every: 20, quiet: 50, redrawn: 20 };
"""
ASKED = f"""async ([script, late]) => {{ {MOUNTED}
  let asked = 0;
  const told = () => mount({{ parentElement, data, setTriggerValue: () => {{ asked += 1; }} }});
  const counts = [];
  const count = async () => {{ await rest(); counts.push(asked); }};
  told();
  await count();
  drawn("another");
  await count();
  drawn("picture");
  if (late) told();
  await count();
  return counts;
}}"""
UNSEEN = f"""async ([script]) => {{ {MOUNTED}
  const asked = [];
  Object.assign(data, {{ asked: 1, done: 0, every: 50, quiet: 20, unseen: true }});
  const setTriggerValue = (name) => {{
    asked.push(name);
    if (name === "seen") data.unseen = false;
    else data.done = 5;
    setTimeout(() => mount({{ parentElement, data, setTriggerValue }}));
  }};
  mount({{ parentElement, data, setTriggerValue }});
  dispatchEvent(new CustomEvent("dpviz:moving"));
  drawn("picture");
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
}}"""


@pytest.mark.parametrize("late", [False, True], ids=["in time", "late"])
def test_a_new_picture_is_asked_for_also_when_an_answer_for_the_one_before_is_late(page: Page, late: bool) -> None:
    assert page.evaluate(ASKED, [module("wait"), late]) == [0, 0, 1]


def test_a_line_that_nobody_sees_asks_for_nothing_until_it_is_in_sight(page: Page) -> None:
    assert page.evaluate(UNSEEN, [module("wait")]) == [[], ["seen", "tick"]]
