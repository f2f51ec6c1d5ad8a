// A class, live. A student's phone shows the step at which the class is: its words, picture and question. The teacher's
// screen shows how many have answered, and sends everyone to another step. How often each answer was given, and on all
// phones what is right, comes when the teacher shows it.

import { housed, mount } from "./picture.js";
import { make, setText } from "./elements.js";
import { clamp } from "./kit.js";
import { makeButton } from "./stage_parts.js";

/** @import { ClassNews, ClassQuestion, ClassStep, StudentNews, TeacherNews, Told } from "./stages.d.ts" */

const { code = "", role, link = "", qr = "", steps: written } = document.body.dataset;
/** @type {ClassStep[]} */
const STEPS = written ? JSON.parse(written) : [];
const AGAIN = 2000; // ms until the server is asked again after it could not be reached
const WIDTH = 1000, LOW = 300, HIGH = 420; // CSS pixels: from this width on, a picture is as high as a window leaves room
const REST = 468; // CSS pixels of a wide window for what is around the picture
const main = /** @type {HTMLElement} */ (document.querySelector("main"));

/** @param {string} to @param {unknown} what @returns {Promise<{ problem?: string, chosen: number, code: string }>} */
async function post(to, what) {
  const answer = await fetch(to, { method: "POST", body: JSON.stringify(what) });
  return answer.json();
}

/** @param {string} words */
const makeProblem = (words) => make("p", "problem", words, { role: "alert" });

/** Ask for news for as long as the class is there; `show` gets each. @template {ClassNews} News @param {string} query @param {(news: News) => void} show */
async function follow(query, show) {
  const said = makeProblem("No connection. Trying again.");
  for (let seen = ""; ;) {
    try {
      const answer = await fetch(`${code}/now?${query}&seen=${seen}`);
      if (answer.status === 429) throw new Error("Too many requests");
      if (!answer.ok) {
        const problem = answer.status === 403 ? (await answer.json()).problem : "The class is over. Its answers are gone.";
        main.replaceChildren(make("h1", "", "dpviz"), make("p", "", problem), courseLink());
        return;
      }
      said.remove();
      const news = await answer.json();
      if (news.seen !== seen) show(news);
      seen = news.seen;
    } catch {
      main.prepend(said);
      await new Promise((done) => { setTimeout(done, AGAIN); });
    }
  }
}

const courseLink = (query = "") =>
  make("p", "", [make("a", "", query ? "Move its slider yourself" : "The course", { href: `../learn${query}`, target: "_blank" })]);

class Drawn {
  constructor() {
    this.host = make("div", "picture");
    this.asked = "";
  }

  async show(/** @type {ClassStep} */ step, /** @type {boolean} */ answered) {
    this.host.hidden = !step.pictured;
    const at = `picture/${step.name}/${answered ? "answered" : "asked"}`;
    if (!step.pictured || at === this.asked) return;
    this.asked = at;
    const packed = new Uint8Array(await (await fetch(at)).arrayBuffer());
    if (at !== this.asked) return; // another one has been asked for meanwhile
    const height = innerWidth < WIDTH ? LOW : clamp(innerHeight - REST, LOW, HIGH);
    const options = { key: "picture", plain: true, height, named: false };
    if (this.picture) this.picture.update(packed, options);
    else this.picture = mount(housed(this.host, SHEETS.picture), packed, options);
  }
}

/** Words of the app, escaped there. @param {"p" | "div"} tag @param {string} name @param {string} html */
function makeWords(tag, name, html) {
  const words = make(tag, name);
  words.innerHTML = html;
  return words;
}

/** Give the focus to what is read out. @param {HTMLElement | null} element @param {FocusOptions} [options] */
function readOut(element, options) {
  if (!element) return;
  element.tabIndex = -1;
  element.focus(options);
}

/** Begin at the top, at the title, which is read out. */
function begin() {
  scrollTo(0, 0);
  readOut(main.querySelector("h1"), { preventScroll: true });
}

/** The words of what was answered, with signs. @param {ClassQuestion} question @param {number} chosen @param {Told} told */
function verdict({ choices }, chosen, { right }) {
  if (chosen === right) return [make("p", "verdict right", `✓ Your guess is right: “${choices[right]}”.`)];
  return [make("p", "verdict wrong", `✗ Your guess: “${choices[chosen]}”.`), make("p", "verdict right", `✓ Right: “${choices[right]}”.`)];
}

class Student {
  constructor() {
    /** @type {Record<string, number>} */ this.chosen = {}; // choices, by question
    /** @type {Record<string, Told>} */ this.told = {}; // what is right, by question, once everyone is told
    this.drawn = new Drawn();
    /** @type {ClassStep | null} */ this.step = null;
    this.at = 0; // question of the step
    follow("student", (/** @type {StudentNews} */ news) => this.follow(news));
  }

  /** Go to the class's step, to the first question without an answer; what is right is read from the first one on. @param {StudentNews} news */
  follow({ step: index, told, chosen }) {
    const step = STEPS[index];
    const hasMoved = this.step !== step;
    this.step = step;
    this.told = told;
    this.chosen = chosen;
    const open = step.questions.findIndex(({ name }) => this.chosen[name] === undefined);
    if (open >= 0 && !hasMoved) return; // somebody who is still choosing is not disturbed
    const first = told[step.questions[0].name] ? 0 : step.questions.length - 1;
    this.at = open >= 0 ? open : first;
    this.show(step);
    if (hasMoved) begin();
    else readOut(main.querySelector(".verdict, .chosen")); // how the question stands
  }

  show(/** @type {ClassStep} */ step) {
    const { questions } = step;
    const question = questions[this.at];
    const chosen = this.chosen[question.name];
    const hasChosen = chosen !== undefined;
    const told = hasChosen ? this.told[question.name] : undefined;
    const asked = make("div", "asked", "", { role: "group", "aria-labelledby": "asked" });
    const place = questions.length > 1 ? `${this.at + 1} of ${questions.length}. ` : "";
    asked.append(make("h2", "", `${place}${question.words}`, { id: "asked" }));
    if (!hasChosen) asked.append(...question.choices.map((choice, index) => makeButton("choice", choice, () => this.choose(step, question, index))));
    else if (told) asked.append(...verdict(question, chosen, told), makeWords("div", "why", told.why));
    else asked.append(make("p", "chosen", `You chose “${question.choices[chosen]}”.`));
    if (hasChosen && this.at + 1 < questions.length) {
      asked.append(makeButton("next", "Next question", () => {
        this.at += 1;
        this.show(step);
        main.querySelector("h2")?.scrollIntoView({ block: "nearest" });
      }));
    } else if (hasChosen) {
      asked.append(make("p", "wait", told || !step.tells ? "Wait for the class: the teacher will continue." : "Wait for the others. The teacher then shows the right answer."));
      if (told && step.pictured) asked.append(courseLink(`?chapter=${step.name}`));
    }
    main.replaceChildren(make("h1", "", step.title), makeWords("p", "words", step.words), this.drawn.host, asked);
    this.drawn.show(step, Boolean(told));
  }

  async choose(/** @type {ClassStep} */ step, /** @type {ClassQuestion} */ question, /** @type {number} */ index) {
    for (const button of main.querySelectorAll("button")) button.disabled = true;
    const lost = { problem: "No connection. Choose again.", chosen: index };
    const { problem, chosen } = await post(`${code}/answer`, { question: question.name, choice: index }).catch(() => lost);
    if (!problem) this.chosen[question.name] = chosen;
    this.show(this.step ?? step);
    if (problem) main.append(makeProblem(problem));
  }
}

class Teacher {
  constructor() {
    this.step = -1;
    this.drawn = new Drawn();
    this.students = make("p", "students", "", { role: "status" });
    this.isOpen = true;
    this.door = makeButton("", "Close the door", () => this.send({ open: !this.isOpen }));
    const remove = makeButton("", "Remove absent students", () => {
      if (confirm("Remove all students whose screens are off or elsewhere? Their answers are gone then.")) this.send({ remove: true });
    });
    const join = make("aside", "join", [
      make("p", "", "Join with your phone"), make("img", "qr", "", { src: qr, alt: `QR code of ${link}` }),
      make("p", "code", code), make("p", "", link.replace(/^https?:\/\//, "")), this.students, this.door, remove,
      make("p", "small", "No names. Counts are rounded down to multiples of five, but rounding alone does not prove privacy. Everything is deleted after the class.")]);
    const steps = STEPS.map(({ title }, index) => make("option", "", title, { value: String(index) }));
    this.list = make("select", "", steps, { "aria-label": "Send everyone to" });
    const send = (/** @type {number} */ step) => this.send({ step });
    this.list.addEventListener("change", () => send(Number(this.list.value)));
    this.back = makeButton("", "Back", () => send(this.step - 1));
    this.tell = makeButton("", "Show the answer", () => this.send({ tell: STEPS[this.step].name }));
    this.next = makeButton("", "Next, for everyone", () => send(this.step + 1));
    const end = makeButton("", "End the class", () => { if (confirm("End the class? All answers are gone then.")) this.send({ end: true }); });
    const bar = make("nav", "bar", [this.back, this.list, this.tell, this.next, end], { "aria-label": "Steps" });
    this.board = make("div", "board");
    this.charts = make("div", "charts");
    main.className = "teacher";
    main.append(this.board, join, bar);
    follow("teacher", (/** @type {TeacherNews} */ news) => this.show(news));
  }

  send(/** @type {unknown} */ what) {
    post(`${code}/teach`, what).catch(() => null); // the line that waits for news says that there is no connection
  }

  show(/** @type {TeacherNews} */ news) {
    const hasMoved = this.step !== news.step;
    this.step = news.step;
    const step = STEPS[this.step];
    this.list.value = String(this.step);
    this.back.disabled = this.step === 0;
    this.next.disabled = this.step === STEPS.length - 1;
    setText(this.students, news.students ? `${news.students} or more students` : "Fewer than 5 students");
    this.isOpen = news.open;
    setText(this.door, news.open ? "Close the door" : "Open the door");
    if (hasMoved) {
      const words = makeWords("p", "words", step.words);
      this.charts = make("div", "charts");
      this.board.replaceChildren(make("h1", "", step.title), words, ...(step.pictured ? [this.drawn.host] : []), this.charts);
      begin();
    }
    const told = step.questions.every(({ name }) => news.told[name]);
    if (told && document.activeElement === this.tell) this.next.focus();
    this.tell.hidden = told || !step.tells;
    this.drawn.show(step, told);
    this.charts.replaceChildren(...step.questions.map((question) => chartOf(question, news)));
  }
}

/** A question with its answers; once they are shown with a bar for each, after the course also as it was before. @param {ClassQuestion} question @param {TeacherNews} news */
function chartOf(question, { answered, counts, told }) {
  const figure = make("figure", "chart", [make("figcaption", "", question.words)]);
  const answer = told[question.name];
  if (!answer) {
    const n = answered[question.name];
    figure.append(make("ul", "choices", question.choices.map((choice) => make("li", "", choice))),
      make("p", "answered", n ? `${n} or more have answered` : "Fewer than 5 have answered"));
    return figure;
  }
  const now = counts[question.name];
  const earlier = question.name.startsWith("after.") && counts[question.name.replace("after.", "before.")];
  /** @type {[string, number[]][]} */
  const halves = earlier ? [["before", earlier], ["after", now]] : [["", now]];
  const most = Math.max(...halves.flatMap(([, each]) => each), 1);
  const table = make("table");
  question.choices.forEach((choice, index) => {
    const isRight = answer.right === index;
    halves.forEach(([half, each], row) => {
      const line = make("tr", isRight ? "right" : "");
      if (row === 0) line.append(make("th", "", `${isRight ? "✓ " : ""}${choice}`, { scope: "row", rowspan: String(halves.length) }));
      const bar = make("span", `bar ${half}`);
      bar.style.width = `${(70 * each[index]) / most}%`;
      line.append(make("td", "drawn", [bar, make("span", "half", half)]), make("td", "count", each[index] ? `${each[index]}+` : "fewer than 5"));
      table.append(line);
    });
  });
  figure.append(table, makeWords("div", "why", answer.why));
  return figure;
}

function offerClass() {
  const said = makeProblem("");
  const button = makeButton("next", "Begin the class", async () => {
    button.disabled = true;
    const answer = await post("NEW", {}).catch(() => ({ problem: "No connection. Try again.", code: "" }));
    if (!answer.problem) location.replace(answer.code);
    setText(said, answer.problem ?? "");
    button.disabled = !answer.problem;
  });
  main.append(button, said);
}

if (role === "new") offerClass();
else if (role) new (role === "teacher" ? Teacher : Student)();
