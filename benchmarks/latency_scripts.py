"""Scripts that the latency benchmark runs in the page: time stamps of a move, and a drag on the scrubber."""

# Time stamps of the last move, all by the page's own clock; for two pictures side by side, of the later picture.
WATCH = """pictures => {
  const times = window.dpvizTimes = {};
  const waiting = new Set();
  for (const type of ["keydown", "pointerdown"]) document.addEventListener(type, () => {
    for (const name of Object.keys(times)) delete times[name];
    for (const picture of pictures) waiting.add(picture);
    times.moved = new Promise((done) => { times.done = done; });
    times.key = performance.now();
  }, { capture: true });
  for (const picture of pictures) new MutationObserver(() => {
    if (!waiting.delete(picture) || waiting.size > 0) return;
    times.drawn = performance.now();
    requestAnimationFrame(() => {
      times.frame = performance.now();
      times.done();
    });
  }).observe(picture, { attributeFilter: ["data-dpviz-drawn"] });
}"""
# Wait without polling every frame, which would make the browser draw; returns nothing after some ms without a picture.
MOVED = """async (forMs) => {
  const { moved } = dpvizTimes;
  const late = new Promise((done) => setTimeout(() => done("late"), forMs));
  if (await Promise.race([moved, late]) === "late") return null;
  const { done, moved: _, ...times } = dpvizTimes;
  return times;
}"""
# Move halfway across the slider, to a new value each time, like a click.
JUMP = """(input, number) => {
  const tell = (type) => input.dispatchEvent(new Event(type, { bubbles: true, composed: true }));
  tell("pointerdown");
  input.value = String(1 + Math.floor(number / 2) + (number % 2) * Math.floor(Number(input.max) / 2));
  for (const type of ["input", "pointerup", "change"]) tell(type);
}"""
# Times of requests and answers, to separate the server's share from the browser's share; pictures come in two ways.
SOCKET = """
const fetchPlainly = window.fetch;
window.fetch = async (...given) => {
  if (window.dpvizTimes) window.dpvizTimes.sent ??= performance.now();
  const answer = await fetchPlainly(...given);
  const read = answer.arrayBuffer.bind(answer);
  answer.arrayBuffer = async () => {
    const bytes = await read();
    if (window.dpvizTimes && window.dpvizTimes.drawn === undefined) window.dpvizTimes.answer = performance.now();
    return bytes;
  };
  return answer;
};
const Plain = window.WebSocket;
window.WebSocket = class extends Plain {
  constructor(...given) {
    super(...given);
    this.addEventListener("message", () => {
      const times = window.dpvizTimes;
      if (!times) return;
      times.first ??= performance.now();
      if (times.drawn === undefined) times.answer = performance.now(); // the last of the messages
    });
  }
  send(data) {
    if (window.dpvizTimes) window.dpvizTimes.sent ??= performance.now();
    super.send(data);
  }
};
"""

# Drag a picture's scrubber for some milliseconds; returns the frames drawn per second.
DRAG = """async (picture, forMs) => {
  const range = picture.querySelector("input[type=range]");
  const drawn = () => Number(picture.dataset.dpvizFrames ?? 0);
  const [before, start] = [drawn(), performance.now()];
  await new Promise((done) => {
    const next = () => {
      if (performance.now() - start > forMs) return done();
      range.value = String((Number(range.value) + 1) % (Number(range.max) + 1));
      range.dispatchEvent(new Event("input"));
      requestAnimationFrame(next);
    };
    next();
  });
  return (1000 * (drawn() - before)) / (performance.now() - start);
}"""
