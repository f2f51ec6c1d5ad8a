// A class, live. A student's phone shows the step at which the class is: its words, picture and question, and after the
// guess what is right. The teacher's screen shows how often each answer was given, and sends everyone to another step.
// What a student has answered is kept in this tab, so that the page can be loaded again.

import { housed, mount } from "./picture.js";
import { learn, make, say } from "./elements.js";

const { code, role, link, qr, steps: written } = document.body.dataset;
learn(LEARNED);
const STEPS = written ? JSON.parse(written) : [];
const AGAIN = 2000; // ms until the server is asked again after it could not be reached
const WIDTH = 1000; // CSS pixels from which a picture is as high as the window leaves room
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
  const answer = await fetch(`${code}/${to}${location.search}`, { method: "POST", body: JSON.stringify(what) });
  return answer.json();
}

/** Ask for news for as long as the class is there; `shown` gets each. */
async function follow(query, shown) {
  const said = make("p", "problem", "", { role: "alert" });
  for (let seen = ""; ;) {
    try {
      const answer = await fetch(`${code}/now?${query}&seen=${seen}${location.search.replace("?", "&")}`);
      if (!answer.ok) {
        const problem = answer.status === 403 ? (await answer.json()).problem : say("The class is over. Its answers are gone.");
        main.replaceChildren(make("h1", "", "dpviz"), make("p", "", problem), courseLink());
        return;
      }
      said.remove();
      const news = await answer.json();
      if (String(news.seen) !== seen) shown(news);
      seen = String(news.seen);
    } catch {
      said.textContent = say("No connection. It is tried again.");
      main.prepend(said);
      await new Promise((done) => { setTimeout(done, AGAIN); });
    }
  }
}

function courseLink(query = "") {
  const line = make("p");
  line.append(make("a", "", query ? "Move its slider yourself" : "The course", { href: `../learn${query}${query ? location.search.replace("?", "&") : location.search}`, target: "_blank" }));
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
    const packed = new Uint8Array(await (await fetch(`${at}${location.search}`)).arrayBuffer());
    if (at !== this.asked) return; // another one has been asked for meanwhile
    const options = { key: "picture", plain: true, height: innerWidth < WIDTH ? 300 : 420, named: false };
    if (this.picture) this.picture.update(packed, options);
    else this.picture = mount(housed(this.host, SHEETS.picture), packed, options);
  }
}

/** The words of what was answered, with signs. */
function verdict(question, { chosen, right }) {
  if (chosen === right) return [make("p", "verdict right", say("✓ Your guess is right: “{words}”.", { words: question.choices[right] }))];
  return [
    make("p", "verdict wrong", say("✗ Your guess: “{words}”.", { words: question.choices[chosen] })),
    make("p", "verdict right", say("✓ Right: “{words}”.", { words: question.choices[right] })),
  ];
}

class Student {
  constructor() {
    this.student = kept("student") ?? kept("student", [...crypto.getRandomValues(new Uint8Array(8))].map((byte) => byte.toString(16).padStart(2, "0")).join(""));
    this.told = kept("told") ?? {}; // question -> what came back
    this.drawn = new Drawn();
    this.at = 0; // question of the step
    follow(`student=${this.student}`, ({ step }) => this.go(step));
  }

  go(step) {
    this.step = STEPS[step];
    this.at = Math.max(0, this.step.questions.findIndex(({ name }) => !this.told[name]));
    if (this.step.questions.every(({ name }) => this.told[name])) this.at = this.step.questions.length - 1;
    this.show();
    scrollTo(0, 0);
    const title = main.querySelector("h1");
    title.tabIndex = -1;
    title.focus({ preventScroll: true });
  }

  show() {
    const { step, at } = this;
    const question = step.questions[at];
    const told = this.told[question.name];
    const parts = [make("h1", "", step.title)];
    const words = make("p", "words");
    words.innerHTML = step.words; // the app's own, escaped there
    parts.push(words, this.drawn.host);
    const many = step.questions.length > 1;
    const asked = make("div", "asked", "", { role: "group", "aria-labelledby": "asked" });
    asked.append(make("h2", "", `${many ? say("{at} of {all}. ", { at: at + 1, all: step.questions.length }) : ""}${question.words}`, { id: "asked" }));
    if (!told) {
      question.choices.forEach((choice, index) => {
        const button = make("button", "choice", choice, { type: "button" });
        button.addEventListener("click", () => this.choose(question, index));
        asked.append(button);
      });
    } else if (step.tells) {
      const why = make("div", "why");
      why.innerHTML = told.why; // the app's own
      asked.append(...verdict(question, told), why);
    } else asked.append(make("p", "", say("You chose “{words}”.", { words: question.choices[told.chosen] })));
    if (told && many && at + 1 < step.questions.length) {
      const next = make("button", "next", "Next question", { type: "button" });
      next.addEventListener("click", () => { this.at += 1; this.show(); main.querySelector("h2").scrollIntoView({ block: "nearest" }); });
      asked.append(next);
    } else if (told) asked.append(make("p", "wait", "Wait for the class: the teacher goes on."), ...(step.pictured ? [courseLink(`?chapter=${step.name}`)] : []));
    main.replaceChildren(...parts, asked);
    this.drawn.show(step, Boolean(told));
  }

  async choose(question, index) {
    for (const button of main.querySelectorAll("button")) button.disabled = true;
    try {
      const told = await post("answer", { student: this.student, question: question.name, choice: index });
      if (told.problem) throw new Error(told.problem);
      this.told[question.name] = told;
      kept("told", this.told);
      this.show();
    } catch (error) {
      this.show();
      main.append(make("p", "problem", error instanceof TypeError ? say("No connection. Choose again.") : error.message, { role: "alert" }));
    }
  }
}

class Teacher {
  constructor() {
    this.drawn = new Drawn();
    this.told = {}; // question -> what is right, once it was asked for
    const join = make("aside", "join");
    join.append(make("p", "", "Join with your phone"), make("img", "qr", "", { src: qr, alt: say("QR code of {link}", { link }) }),
      make("p", "code", code), make("p", "", link.replace(/^https?:\/\//, "")));
    this.students = make("p", "students", "", { role: "status" });
    join.append(this.students, make("p", "small", "No names. Counts are rounded down to fives, so that no single answer shows. All of it is gone after the class."));
    this.bar = make("nav", "bar", "", { "aria-label": "Steps" });
    this.list = make("select", "", "", { "aria-label": "Send everyone to" });
    STEPS.forEach(({ title }, index) => this.list.append(make("option", "", title, { value: String(index) })));
    this.list.addEventListener("change", () => this.send(Number(this.list.value)));
    this.back = this.button("Back", () => this.send(this.step - 1));
    this.next = this.button("Next, for everyone", () => this.send(this.step + 1));
    const end = this.button("End the class", () => { if (confirm(say("End the class? All answers are gone then."))) post("teach", { end: true }).catch(() => null); });
    this.bar.append(this.back, this.list, this.next, end);
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
    this.students.textContent = news.students ? say("{n} or more students", { n: news.students }) : say("Fewer than 5 students");
    if (moved || !this.board.childElementCount) {
      this.tell = this.button("Show what is right", () => this.reveal());
      this.charts = make("div", "charts");
      this.board.replaceChildren(make("h1", "", step.title), ...(step.pictured ? [this.drawn.host] : []), this.charts, this.tell);
    }
    const told = step.questions.every(({ name }) => this.told[name]);
    this.tell.hidden = told || !step.tells;
    this.drawn.show(step, told);
    this.charts.replaceChildren(...step.questions.map((question) => this.chart(question)));
  }

  /** A question with a bar for each answer; after the lesson also as it was before. */
  chart(question) {
    const figure = make("figure", "chart");
    const told = this.told[question.name];
    const halves = [["", this.news.counts[question.name]]];
    const earlier = question.name.startsWith("after.") && this.news.counts[question.name.replace("after.", "before.")];
    if (earlier) halves.unshift(["before", earlier]), (halves[1][0] = "after");
    figure.append(make("figcaption", "", question.words));
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
    figure.append(table);
    if (told) {
      const why = make("div", "why");
      why.innerHTML = told.why; // the app's own
      figure.append(why);
    }
    return figure;
  }

  async reveal() {
    const { questions } = STEPS[this.step];
    try {
      for (const { name } of questions) this.told[name] ??= await post("teach", { tell: name });
    } catch { /* the button stays */ }
    this.show(this.news);
  }
}

if (role) new (role === "teacher" ? Teacher : Student)();
