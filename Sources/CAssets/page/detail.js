// Everything about one task, beside the list.

import { button, byId, h, icon, iconButton, say, write } from "./dom.js";
import { get, patch } from "./api.js";
import { duration, fullTime, parseLimit, percent, plainRate, rate, size } from "./format.js";
import { statusAdvice, whatToDo } from "./errors.js";
import { perform } from "./actions.js";
import { drop, taking, tasks } from "./tasks.js";
import { sessions, sessionName } from "./sessions.js";
import { Timeline } from "./timeline.js";
import { waterfall } from "./waterfall.js";
import { preview, saveLink } from "./preview.js";
import { ratesOf, onSecond } from "./rates.js";
import { spark } from "./graph.js";
import { amount } from "./row-view.js";

const panel = byId("detail");
let shown = null;

/** Closes the panel; the list has the focus again. */
export const close = () => {
  shown?.leave();
  shown = null;
  panel.hidden = true;
  panel.replaceChildren();
  document.body.classList.remove("with-detail");
};

export const open = async (id) => {
  if (shown?.id === id) return;
  shown?.leave();
  const control = new AbortController();
  const unwatch = [];
  shown = { id, leave: () => { control.abort(); for (const end of unwatch) end(); } };
  const view = shown;
  panel.hidden = false;
  document.body.classList.add("with-detail");
  const title = h("h2", { tabindex: "-1" }, tasks.row(id)?.name ?? "…");
  const parts = {
    head: h("header.detail-head", title, iconButton("close", "Close the details", () => { location.hash = "tasks"; byId("task-grid").focus(); })),
    now: h("div.now"), acts: h("div.detail-acts"), fault: h("div"), content: h("div"), facts: h("div"),
    metrics: h("div"), headers: h("div"),
  };
  const timeline = new Timeline(id);
  panel.replaceChildren(parts.head, h("div.detail-body", parts.now, parts.acts, parts.fault,
    section("Content", parts.content), section("Timeline", timeline.element), section("Time spent", parts.metrics),
    section("Headers", parts.headers), section("About", parts.facts)));
  title.focus({ preventScroll: true });

  let turn = 0;
  const reload = async () => {
    const mine = ++turn;
    let task;
    try {
      task = await taking(() => get(`/v1/tasks/${id}`, { signal: control.signal }));
    } catch (error) {
      if (error.name === "AbortError" || shown !== view) return;
      view.isGone = error.status === 404;
      if (view.isGone) drop(id);
      // What is there stays over a cut.
      else if (view.isDrawn) { clearTimeout(view.timer); view.timer = setTimeout(reload, 2000); return; }
      panel.replaceChildren(parts.head, h("div.note", icon("alert", "large"), ...(view.isGone
        ? [h("h2", "This transfer is gone"), h("p", "It was deleted, or its time is over.")]
        : [h("h2", "It could not be loaded"), h("p", error.message), button("", "retry", "Try again", { onclick: () => { close(); open(id); } })])));
      return;
    }
    // Of two answers the later question's is shown.
    if (shown !== view || mine !== turn || !tasks.row(id)) return;
    view.isDrawn = true;
    draw(task, parts, title, view, control.signal);
  };
  unwatch.push(tasks.onEvent((event) => {
    if (event.data.task !== id) return;
    timeline.hear(event);
    if (event.name === "task.didDelete") { say("This transfer was deleted."); location.hash = "tasks"; return; }
    clearTimeout(view.timer);
    view.timer = setTimeout(reload, 150);
  }));
  unwatch.push(onSecond(() => {
    const row = tasks.row(id);
    if (row) drawNow(row, parts);
    // The list has found it gone.
    else if (view.isDrawn && !view.isGone) reload();
  }));
  await reload();
  if (view.isDrawn) await timeline.load(control.signal);
};

const section = (heading, content) => h("section", h("h3", heading), content);

/** The figures that move. */
const drawNow = (row, parts) => {
  const now = performance.now();
  if (!parts.figures) {
    parts.figures = { words: h("strong"), amount: h("span"), part: h("span"), speed: h("span"), left: h("span"), fill: h("i") };
    const { words, amount: done, part, speed, left, fill } = parts.figures;
    parts.bar = h("div.bar", { role: "progressbar", "aria-valuemin": "0", "aria-valuemax": "100", "aria-label": `Progress of ${row.name}` }, fill);
    parts.spark = h("div");
    parts.now.append(h("p.now-line", words, part), parts.bar, h("p.now-line.figures", done, speed, left), parts.spark);
  }
  const { words, amount: done, part, speed, left, fill } = parts.figures;
  parts.now.dataset.kind = row.kind;
  write(words, row.words);
  write(done, amount(row));
  write(part, row.part === null ? "" : percent(row.part));
  write(speed, row.speed(now) > 0 ? rate(row.speed(now)) : "");
  const seconds = row.secondsLeft(now);
  write(left, Number.isNaN(seconds) ? "" : `${duration(seconds)} left`);
  fill.style.transform = `scaleX(${row.part ?? 0})`;
  if (row.part === null) parts.bar.removeAttribute("aria-valuenow");
  else parts.bar.setAttribute("aria-valuenow", Math.floor(row.part * 100));
  const values = ratesOf("tasks", row.id);
  parts.spark.replaceChildren(...(values.some((value) => value > 0) ? [spark(values.subarray(480), `Speed of ${row.name} in the last two minutes`)] : []));
};

const draw = (task, parts, title, view, signal) => {
  const row = tasks.row(task.id);
  write(title, row.name);
  drawNow(row, parts);
  const state = `${task.state} ${row.kind}`;
  if (parts.acts.dataset.state !== state) {
    parts.acts.dataset.state = state;
    const act = (drawing, words, action, tone = "") => button(tone, drawing, words, { "aria-label": `${words} ${row.name}`, onclick: () => perform(action, [tasks.row(task.id)]) });
    const done = task.content && task.state === "completed" && !task.error;
    parts.acts.replaceChildren(...[
      done && saveLink(task, row.name),
      row.kind === "asks" && h("a.button.primary", { href: "#decisions" }, icon("question"), h("span", "Answer")),
      task.state === "running" && act("pause", "Suspend", "suspend"), task.state === "suspended" && act("play", "Resume", "resume", "primary"),
      (task.state === "running" || task.state === "suspended") && act("close", "Cancel", "cancel"),
      task.state === "completed" && act("retry", "Retry", "retry", done ? "" : "primary"), task.state === "completed" && act("trash", "Delete", "delete"),
    ].filter(Boolean));
  }
  drawFault(task, parts);
  drawContent(task, parts, view, signal);
  parts.metrics.replaceChildren(waterfall(task.metrics));
  drawHeaders(task, parts);
  if (!parts.facts.contains(document.activeElement) && !parts.facts.querySelector("[aria-invalid]")) parts.facts.replaceChildren(facts(task));
};

const drawFault = (task, parts) => {
  parts.fault.replaceChildren();
  const { error, response } = task;
  if (error) {
    const below = error.underlying;
    parts.fault.append(h("div.explain", { role: "note" }, h("p", h("strong", error.message)), h("p", whatToDo(error)),
      h("p.quiet", `${error.name} (${error.domain} ${error.code})`, below && ` · ${below.layer}: ${below.message}`)));
  } else if (task.state === "completed" && response?.status >= 400) {
    parts.fault.append(h("div.explain", { role: "note" }, h("p", h("strong", `The server answered ${response.status}.`)), h("p", statusAdvice(response.status)),
      h("p.quiet", "What it sent along is kept as the content.")));
  } else if (task.waitingFor === "slot") {
    parts.fault.append(h("p.quiet", "Other transfers of the session to this host go first."));
  } else if (task.waitingFor === "retry" && task.nextAttemptAt) {
    parts.fault.append(h("p.quiet", `Next attempt: ${fullTime(task.nextAttemptAt)}.`));
  }
};

const drawContent = (task, parts, view, signal) => {
  const isThere = task.state === "completed" && task.content;
  const key = isThere ? "there" : task.state;
  if (parts.content.dataset.key === key) return;
  parts.content.dataset.key = key;
  const kept = task.destination?.path && h("p", "Saved in ", h("code", `${task.destination.folder}/${task.destination.path}`));
  if (!isThere) {
    parts.content.replaceChildren(h("p.quiet", task.state === "completed" ? "There is none." : "It can be looked at when the transfer is done."));
    return;
  }
  parts.content.replaceChildren(...[kept, h("p.quiet", [task.response?.mimeType, size(task.content.length),
    task.content.complete === false && "not whole"].filter(Boolean).join(" · ")),
  task.content.digest && h("p.quiet", "Digest ", h("code.fingerprint", task.content.digest))].filter(Boolean));
  preview(task, signal).then((element) => { if (shown === view) parts.content.append(element); }, () => {});
};

const pairs = (headers) => (Array.isArray(headers) ? headers
  : Object.entries(headers).flatMap(([name, value]) => [value].flat().map((one) => [name, one])));

const drawHeaders = (task, parts) => {
  const table = (heading, first, headers) => h("details", h("summary", heading), h("p.url", first),
    h("dl.facts", pairs(headers).flatMap(([name, value]) => [h("dt", name), h("dd", value)])));
  const isOpen = [...parts.headers.children].map((one) => one.open);
  const { currentRequest: sent, response } = task;
  parts.headers.replaceChildren(...[table("Request", `${sent.method} ${sent.url}`, sent.headers),
    response && table(`Response ${response.status}`, `HTTP/${response.httpVersion} ${response.status} ${response.url}`, response.headers)].filter(Boolean));
  [...parts.headers.children].forEach((one, index) => { one.open = isOpen[index] ?? false; });
};

const facts = (task) => {
  const change = async (body) => {
    try { await taking(() => patch(`/v1/tasks/${task.id}`, body)); say("Changed."); } catch (error) { say(error.message, { tone: "bad" }); }
  };
  const fault = h("p.fault", { role: "alert", id: "task-limit-fault" });
  const limit = h("input", { value: plainRate(task.maximumBytesPerSecond), placeholder: "none", "aria-label": "Limit of this transfer, for example 2 MiB/s",
    "aria-describedby": fault.id, onchange: () => {
      write(fault, "");
      limit.removeAttribute("aria-invalid");
      try { change({ maximumBytesPerSecond: parseLimit(limit.value) }); } catch (error) {
        write(fault, error.message);
        limit.setAttribute("aria-invalid", "true");
      }
    } });
  const priority = h("select", { "aria-label": "Priority of this transfer", onchange: () => change({ priority: Number(priority.value) }) },
    [[1, "First"], [0.75, "High"], [0.5, "Normal"], [0.25, "Low"]].map(([value, label]) => h("option", { value, selected: value === task.priority }, label)));
  if (![1, 0.75, 0.5, 0.25].includes(task.priority)) priority.prepend(h("option", { value: task.priority, selected: true }, String(task.priority)));
  const live = task.state !== "completed";
  const fact = (name, value) => (value == null || value === "" ? [] : [h("dt", name), h("dd", value)]);
  return h("dl.facts",
    fact("URL", h("a.url", { href: task.originalRequest.url, rel: "noreferrer noopener", target: "_blank" }, task.originalRequest.url)),
    fact("Session", h("a", { href: `#sessions/${task.session}` }, sessionName(sessions.get(task.session)) || task.session)),
    fact("Kind", task.type), fact("Description", task.description),
    live && fact("Priority", priority), live && fact("Limit", [limit, fault]),
    fact("Created", fullTime(task.createdAt)), fact("Started", task.startedAt && fullTime(task.startedAt)),
    fact("Completed", task.completedAt && fullTime(task.completedAt)),
    fact("Expected", task.expectedDigest && h("code.fingerprint", task.expectedDigest)),
    task.connections > 1 && fact("Connections", String(task.connections)), task.mirrors.length > 0 && fact("Mirrors", task.mirrors.join(", ")),
    task.retry && fact("Retries", `${task.retry.attempts}`), task.retryOf && fact("Retry of", h("a", { href: `#tasks/${task.retryOf}` }, task.retryOf)),
    Object.keys(task.metadata).length > 0 && fact("Metadata", h("dl.facts", Object.entries(task.metadata).map(([name, value]) => fact(name, value)))),
    fact("Id", h("code", task.id)));
};
