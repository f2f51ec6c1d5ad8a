// @ts-nocheck
// A class, live. A student's phone shows the step at which the class is: its words, picture and question. The teacher's
// screen shows how many have answered, and sends everyone to another step. How often each answer was given, and on all
// phones what is right, comes when the teacher shows it.
// What a student has answered is kept in this tab, so that the page can be loaded again.

import { housed, mount } from "./picture.js";
import { make } from "./elements.js";

const { code, role, link, qr, steps: written } = document.body.dataset;
const STEPS = written ? JSON.parse(written) : [];
const AGAIN = 2000; // ms until the server is asked again after it could not be reached
const WIDTH = 1000, LOW = 300, HIGH = 420; // CSS pixels: from this width on, a picture is as high as a window leaves room
const REST = 468; // CSS pixels of a wide window for what is around the picture
const main = document.querySelector("main");

function kept(name, value) {
  try {
    if (value !== undefined) sessionStorage.setItem(`dpviz:class:${code}:${name}`, JSON.stringify(value));
    return JSON.parse(sessionStorage.getItem(`dpviz:class:${code}:${name}`) ?? "null");
  } catch {
    return value ?? null; // then a page that is loaded again begins anew
  }
}

async function post(to, what) {
  const answer = await fetch(`${code}/${to}`, { method: "POST", body: JSON.stringify(what) });
  return answer.json();
}

/** Ask for news for as long as the class is there; `shown` gets each. */
async function follow(query, shown) {
  const said = make("p", "problem", "", { role: "alert" });
  for (let seen = ""; ;) {
    try {
      const answer = await fetch(`${code}/now?${query}&seen=${seen}`);
      if (!answer.ok) {
        const problem = answer.status === 403 ? (await answer.json()).problem : "The class is over. Its answers are gone.";
        main.replaceChildren(make("h1", "", "dpviz"), make("p", "", problem), courseLink());
        return;
      }
      said.remove();
      const news = await answer.json();
      if (String(news.seen) !== seen) shown(news);
      seen = String(news.seen);
    } catch {
      said.textContent = "No connection. It is tried again.";
      main.prepend(said);
      await new Promise((done) => { setTimeout(done, AGAIN); });
    }
  }
}

function courseLink(query = "") {
  const line = make("p");
  line.append(make("a", "", query ? "Move its slider yourself" : "The course", { href: `../learn${query}`, target: "_blank" }));
  return line;
}

class Drawn {
  constructor() {
    this.host = make("div", "picture");
    this.asked = "";
  }

  async show(step, answered) {
    this.host.hidden = !step.pictured;
    const at = `picture/${step.name}/${answered ? "answered" : "asked"}`;
    if (!step.pictured || at === this.asked) return;
    this.asked = at;
    const packed = new Uint8Array(await (await fetch(at)).arrayBuffer());
    if (at !== this.asked) return; // another one has been asked for meanwhile
    const options = { key: "picture", plain: true, height: innerWidth < WIDTH ? LOW : Math.min(HIGH, Math.max(LOW, innerHeight - REST)), named: false };
    if (this.picture) this.picture.update(packed, options);
    else this.picture = mount(housed(this.host, SHEETS.picture), packed, options);
  }
}

function story(step) {
  const words = make("p", "words");
  words.innerHTML = step.words; // the app's own, escaped there
  return words;
}

function explained(told) {
  const why = make("div", "why");
  why.innerHTML = told.why; // the app's own
  return why;
}

/** Begin at the top, at the title, which is read out. */
function begin() {
  scrollTo(0, 0);
  const title = main.querySelector("h1");
  title.tabIndex = -1;
  title.focus({ preventScroll: true });
}

/** The words of what was answered, with signs. */
function verdict(question, chosen, { right }) {
  if (chosen === right) return [make("p", "verdict right", `✓ Your guess is right: “${question.choices[right]}”.`)];
  return [
    make("p", "verdict wrong", `✗ Your guess: “${question.choices[chosen]}”.`),
    make("p", "verdict right", `✓ Right: “${question.choices[right]}”.`),
  ];
}

class Student {
  constructor() {
    this.student = kept("student") ?? kept("student", [...crypto.getRandomValues(new Uint8Array(8))].map((byte) => byte.toString(16).padStart(2, "0")).join(""));
    this.chosen = kept("chosen") ?? {}; // question -> choice
    this.told = {}; // question -> what is right, once everyone is told
    this.drawn = new Drawn();
    this.at = 0; // question of the step
    follow(`student=${this.student}`, (news) => this.follow(news));
  }

  /** Go to the class's step, to the first question without an answer; what is right is read from the first one on. */
  follow({ step, told }) {
    const moved = this.step !== STEPS[step];
    this.step = STEPS[step];
    this.told = told;
    const { questions } = this.step;
    const open = questions.findIndex(({ name }) => !this.has(name));
    if (open >= 0 && !moved) return; // somebody who is still choosing is not disturbed
    this.at = open >= 0 ? open : told[questions[0].name] ? 0 : questions.length - 1;
    this.show();
    if (moved) begin();
    else this.read();
  }

  has(name) {
    return this.chosen[name] !== undefined;
  }

  /** Read out how the question stands. */
  read() {
    const line = main.querySelector(".verdict, .chosen");
    if (!line) return;
    line.tabIndex = -1;
    line.focus();
  }

  show() {
    const { step, at } = this;
    const question = step.questions[at];
    const has = this.has(question.name), chosen = this.chosen[question.name];
    const told = has && this.told[question.name];
    const parts = [make("h1", "", step.title), story(step), this.drawn.host];
    const many = step.questions.length > 1;
    const asked = make("div", "asked", "", { role: "group", "aria-labelledby": "asked" });
    asked.append(make("h2", "", `${many ? `${at + 1} of ${step.questions.length}. ` : ""}${question.words}`, { id: "asked" }));
    if (!has) {
      question.choices.forEach((choice, index) => {
        const button = make("button", "choice", choice, { type: "button" });
        button.addEventListener("click", () => this.choose(question, index));
        asked.append(button);
      });
    } else if (told) asked.append(...verdict(question, chosen, told), explained(told));
    else asked.append(make("p", "chosen", `You chose “${question.choices[chosen]}”.`));
    if (has && many && at + 1 < step.questions.length) {
      const next = make("button", "next", "Next question", { type: "button" });
      next.addEventListener("click", () => { this.at += 1; this.show(); main.querySelector("h2").scrollIntoView({ block: "nearest" }); });
      asked.append(next);
    } else if (has) {
      asked.append(make("p", "wait", told || !step.tells ? "Wait for the class: the teacher goes on." : "Wait for the others. Then the teacher shows what is right."));
      if (told && step.pictured) asked.append(courseLink(`?chapter=${step.name}`));
    }
    main.replaceChildren(...parts, asked);
    this.drawn.show(step, Boolean(told));
  }

  async choose(question, index) {
    for (const button of main.querySelectorAll("button")) button.disabled = true;
    try {
      const { problem, chosen } = await post("answer", { student: this.student, question: question.name, choice: index });
      if (problem) throw new Error(problem);
      this.chosen[question.name] = chosen;
      kept("chosen", this.chosen);
      this.show();
    } catch (error) {
      this.show();
      main.append(make("p", "problem", error instanceof TypeError ? "No connection. Choose again." : error.message, { role: "alert" }));
    }
  }
}

class Teacher {
  constructor() {
    this.drawn = new Drawn();
    const join = make("aside", "join");
    join.append(make("p", "", "Join with your phone"), make("img", "qr", "", { src: qr, alt: `QR code of ${link}` }),
      make("p", "code", code), make("p", "", link.replace(/^https?:\/\//, "")));
    this.students = make("p", "students", "", { role: "status" });
    join.append(this.students, make("p", "small", "No names. Counts are rounded down to fives; rounding alone is no proof of privacy. All of it is gone after the class."));
    this.bar = make("nav", "bar", "", { "aria-label": "Steps" });
    this.list = make("select", "", "", { "aria-label": "Send everyone to" });
    STEPS.forEach(({ title }, index) => this.list.append(make("option", "", title, { value: String(index) })));
    this.list.addEventListener("change", () => this.send(Number(this.list.value)));
    this.back = this.button("Back", () => this.send(this.step - 1));
    this.tell = this.button("Show what is right", () => post("teach", { tell: STEPS[this.step].name }).catch(() => null));
    this.next = this.button("Next, for everyone", () => this.send(this.step + 1));
    const end = this.button("End the class", () => { if (confirm("End the class? All answers are gone then.")) post("teach", { end: true }).catch(() => null); });
    this.bar.append(this.back, this.list, this.tell, this.next, end);
    this.board = make("div", "board");
    main.className = "teacher";
    main.append(this.board, join, this.bar);
    follow("teacher", (news) => this.show(news));
  }

  button(words, does) {
    const button = make("button", "", words, { type: "button" });
    button.addEventListener("click", does);
    return button;
  }

  send(step) {
    post("teach", { step }).catch(() => null); // the line that waits for news says that there is no connection
  }

  show(news) {
    this.news = news;
    const moved = this.step !== news.step;
    this.step = news.step;
    const step = STEPS[this.step];
    this.list.value = String(this.step);
    this.back.disabled = this.step === 0;
    this.next.disabled = this.step === STEPS.length - 1;
    this.students.textContent = news.students ? `${news.students} or more students` : "Fewer than 5 students";
    if (moved || !this.board.childElementCount) {
      this.charts = make("div", "charts");
      this.board.replaceChildren(make("h1", "", step.title), story(step), ...(step.pictured ? [this.drawn.host] : []), this.charts);
      begin();
    }
    const told = step.questions.every(({ name }) => news.told[name]);
    if (told && document.activeElement === this.tell) this.next.focus();
    this.tell.hidden = told || !step.tells;
    this.drawn.show(step, told);
    this.charts.replaceChildren(...step.questions.map((question) => this.chart(question)));
  }

  /** A question with its answers; once they are shown with a bar for each, after the course also as it was before. */
  chart(question) {
    const figure = make("figure", "chart");
    const told = this.news.told[question.name];
    figure.append(make("figcaption", "", question.words));
    if (!told) {
      const n = this.news.answered[question.name];
      const choices = make("ul", "choices");
      choices.append(...question.choices.map((choice) => make("li", "", choice)));
      figure.append(choices, make("p", "answered", n ? `${n} or more have answered` : "Fewer than 5 have answered"));
      return figure;
    }
    const halves = [["", this.news.counts[question.name]]];
    const earlier = question.name.startsWith("after.") && this.news.counts[question.name.replace("after.", "before.")];
    if (earlier) halves.unshift(["before", earlier]), (halves[1][0] = "after");
    const table = make("table");
    question.choices.forEach((choice, index) => {
      const right = told?.right === index;
      halves.forEach(([half, counts], row) => {
        const line = make("tr", right ? "right" : "");
        if (row === 0) line.append(make("th", "", `${right ? "✓ " : ""}${choice}`, { scope: "row", rowspan: String(halves.length) }));
        const count = make("td", "count", counts[index] ? `${counts[index]}+` : "fewer than 5");
        const most = Math.max(...halves.flatMap(([, each]) => each), 1);
        const bar = make("span", `bar ${half}`);
        bar.style.width = `${(70 * counts[index]) / most}%`;
        const cell = make("td", "drawn");
        cell.append(bar, make("span", "half", half));
        line.append(cell, count);
        table.append(line);
      });
    });
    figure.append(table, explained(told));
    return figure;
  }
}

if (role) new (role === "teacher" ? Teacher : Student)();
