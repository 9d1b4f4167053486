// The list of transfers with its filters, its order and what is done with many.

import { button, byId, h, icon, say, write } from "./dom.js";
import { count, rate, size } from "./format.js";
import { Table } from "./table.js";
import { tasks, load, refresh, search } from "./tasks.js";
import { sessions, sessionName } from "./sessions.js";
import * as actions from "./actions.js";

const tabs = [
  ["all", "All"], ["active", "Active"], ["asks", "Asks you"], ["done", "Done"], ["failed", "Failed"], ["cancelled", "Cancelled"],
];
const columns = [
  ["name", "Name"], ["state", "State"], ["part", "Progress"], ["size", "Size"], ["speed", "Speed"],
  ["left", "Time left"], ["added", "Added"],
];
const keys = {
  name: (row) => row.name.toLowerCase(), state: (row) => row.words, part: (row) => row.part ?? -1, size: (row) => row.size,
  speed: (row, now) => row.speed(now), left: (row, now) => row.secondsLeft(now) || Infinity, added: (row) => row.id,
};
const filter = { tab: "all", session: "", text: "", sort: "added", isDown: true };
const counts = {};
let table = null;
let parts = null;
let seenVersion = -1;
let buildTimer = null;
let openTask = () => {};

const build = () => {
  const field = (label, control) => h("label.inline", h("span.hidden", label), control);
  parts = {
    tabs: h("div.tabs", { role: "group", "aria-label": "State" }, tabs.map(([key, label]) => {
      counts[key] = h("span.count");
      return h("button.tab", { type: "button", "data-tab": key, onclick: () => choose({ tab: key }) }, label, counts[key]);
    })),
    search: h("input.search", {
      type: "search", id: "search", placeholder: "Search", "aria-keyshortcuts": "/", autocomplete: "off", spellcheck: "false",
      oninput: (event) => { choose({ text: event.target.value.trim().toLowerCase() }); askGateway(); } }),
    session: h("select", { onchange: (event) => choose({ session: event.target.value }) }),
    sort: h("select.narrow-only", { onchange: (event) => choose({ sort: event.target.value, isDown: event.target.value === "added" }) },
      columns.map(([key, label]) => h("option", { value: key, selected: key === filter.sort }, `By ${label.toLowerCase()}`))),
    picked: h("div.picked-bar", { role: "toolbar", "aria-label": "What to do with the selected transfers", hidden: true }),
    heads: Object.fromEntries(columns.map(([key, label]) => [key, h(
      `div.cell.${key === "part" ? "progress" : key === "name" ? "title" : key}`, { role: "columnheader", "aria-sort": "none" },
      h("button.sort", { type: "button", onclick: () => sortBy(key) }, label))])),
    all: h("input", { type: "checkbox", "aria-label": "Select all that are shown", onclick: (event) => table.pickAll(event.target.checked) }),
    note: h("div.note"),
    foot: h("div.list-foot"),
  };
  parts.grid = h(
    "div.grid", { role: "grid", tabindex: "0", "aria-label": "Transfers", "aria-multiselectable": "true", id: "task-grid" },
    h("div.row.head", { role: "row", "aria-rowindex": "1" },
      h("div.cell.pick", { role: "columnheader", "aria-label": "Selected" }, h("label.hit", parts.all)),
      columns.map(([key]) => parts.heads[key]),
      h("div.cell.acts", { role: "columnheader" }, h("span.hidden", "Actions"))));
  parts.scroller = h("div.scroller", parts.grid, parts.note);
  byId("tasks").append(
    h("h1.hidden", "Transfers"),
    h("div.toolbar", parts.tabs, h("div.filters", field("Search by name, URL or description", parts.search),
      field("Session", parts.session), field("Order", parts.sort))),
    parts.picked, parts.scroller, parts.foot);
  table = new Table(parts.scroller, parts.grid, { open: (row) => openTask(row.id), onpick: showPicked, refresh });
};

const choose = (change) => { Object.assign(filter, change); table.scroller.scrollTop = 0; rebuild(); };

const sortBy = (key) => choose({
  sort: key, isDown: filter.sort === key ? !filter.isDown : ["added", "speed", "size", "part"].includes(key) });

let askTimer = null;
const askGateway = () => {
  clearTimeout(askTimer);
  askTimer = setTimeout(() => search(filter.text).catch((error) => say(`Older transfers could not be searched: ${error.message}`, { tone: "bad" })), 300);
};

/** Which tasks are shown, in which order; the counts beside. */
const rebuild = () => {
  seenVersion = tasks.version;
  const now = performance.now();
  const numbers = { all: 0, active: 0, asks: 0, done: 0, failed: 0, cancelled: 0 };
  const shown = [];
  for (const row of tasks.all()) {
    if (filter.session && row.session !== filter.session) continue;
    if (filter.text && !row.matches(filter.text)) continue;
    const group = row.group;
    numbers.all += 1;
    numbers[group] += 1;
    if (group === "asks") numbers.active += 1;
    if (filter.tab === "all" || filter.tab === group || (filter.tab === "active" && group === "asks")) shown.push(row);
  }
  const key = keys[filter.sort];
  const order = shown.map((row) => [key(row, now), row]);
  const sign = filter.isDown ? -1 : 1;
  order.sort(([a, first], [b, second]) => (a < b ? -sign : a > b ? sign : first.id < second.id ? 1 : -1));
  table.setRows(order.map(([, row]) => row));
  for (const [tab] of tabs) write(counts[tab], numbers[tab] ? numbers[tab].toLocaleString() : "");
  for (const tab of parts.tabs.children) {
    tab.setAttribute("aria-pressed", tab.dataset.tab === filter.tab);
    if (tab.dataset.tab === "asks") tab.classList.toggle("calls", numbers.asks > 0);
  }
  for (const [name, head] of Object.entries(parts.heads)) {
    head.setAttribute("aria-sort", name !== filter.sort ? "none" : filter.isDown ? "descending" : "ascending");
  }
  showNote(numbers);
  showPicked();
};

/** In place of lines: loading, nothing yet, nothing that fits, or why there is nothing. */
const showNote = (numbers) => {
  const isFiltered = filter.tab !== "all" || filter.session || filter.text;
  const kind = table.rows.length ? "rows" : tasks.state !== "ready" ? tasks.state : isFiltered ? "filtered" : "empty";
  parts.grid.classList.toggle("vacant", kind !== "rows");
  if (parts.note.dataset.kind === kind) return;
  parts.note.dataset.kind = kind;
  parts.note.replaceChildren(...{
    rows: () => [],
    loading: () => Array.from({ length: 6 }, () => h("div.ghost", { "aria-hidden": "true" })),
    failed: () => [icon("alert", "large"), h("h2", "The list could not be loaded"), h("p", tasks.error?.message ?? ""),
      button("", "retry", "Try again", { onclick: load })],
    filtered: () => [icon("search", "large"), h("h2", "No transfer fits"), h("p", filter.text
      ? `Nothing here has “${filter.text}” in its name, URL or description.` : "Nothing is in this state."),
    button("", null, "Show all", { onclick: () => { parts.search.value = ""; parts.session.value = ""; choose({ tab: "all", session: "", text: "" }); } })],
    empty: () => [icon("down", "large"), h("h2", "Nothing to move yet"),
      h("p", "Give Ferry a URL, or drop a file anywhere on this page to upload it. Transfers go on when you close the page."),
      button("primary", "add", "New transfer", { onclick: () => document.dispatchEvent(new CustomEvent("ferry:new")) })],
  }[kind]());
  if (numbers.all === 0) table.picked.clear();
};

// MARK: many at once

export const pickedRows = () => [...table.picked].map((id) => tasks.row(id)).filter(Boolean);

const showPicked = () => {
  for (const id of table.picked) if (!tasks.row(id)) table.picked.delete(id);
  const rows = pickedRows();
  parts.picked.hidden = rows.length === 0;
  parts.all.checked = rows.length > 0 && rows.length === table.rows.length;
  parts.all.indeterminate = rows.length > 0 && !parts.all.checked;
  if (!rows.length) { parts.picked.replaceChildren(); return; }
  const state = ["resume", "suspend", "cancel", "retry", "delete"].map((action) => actions.fitting(action, rows).length);
  const summary = `${rows.length}:${state.join()}`;
  if (parts.picked.dataset.summary === summary && parts.picked.children.length) return;
  parts.picked.dataset.summary = summary;
  const act = (drawing, words, action, index) => button("", drawing, words, {
    disabled: state[index] === 0, onclick: async () => {
      const done = await actions.perform(action, pickedRows());
      // Pressed again, it makes only those anew that it has not yet.
      if (action === "retry") table.unpick(done);
    } });
  parts.picked.replaceChildren(
    h("strong", `${rows.length.toLocaleString()} selected`),
    act("play", "Resume", "resume", 0), act("pause", "Suspend", "suspend", 1), act("close", "Cancel", "cancel", 2),
    act("retry", "Retry", "retry", 3), act("trash", "Delete", "delete", 4),
    h("select", { "aria-label": "Priority of the selected transfers", disabled: rows.every((row) => row.state === "completed"),
      onchange: (event) => { actions.prioritize(pickedRows(), Number(event.target.value)); event.target.value = ""; } },
    [["", "Priority…"], ["1", "First"], ["0.75", "High"], ["0.5", "Normal"], ["0.25", "Low"]].map(([value, label]) =>
      h("option", { value }, label))),
    h("button.plain", { type: "button", onclick: () => table.pickAll(false) }, "Select none"));
};

const showFoot = () => {
  const now = performance.now();
  let speed = 0, running = 0;
  for (const row of tasks.all()) if (row.state === "running") { speed += row.speed(now); if (!row.waitingFor) running += 1; }
  const known = tasks.isWhole || tasks.state !== "ready" ? count(tasks.count, "transfer")
    : `${count(tasks.count, "transfer")}; older ones are found by a search`;
  write(parts.foot, `${known} · ${running} running · ${speed > 0 ? rate(speed) : `${size(0)}/s`}`);
};

export const showSessions = () => {
  const value = filter.session;
  parts.session.replaceChildren(h("option", { value: "" }, "All sessions"),
    ...sessions.all().map((session) => h("option", { value: session.id, selected: session.id === value }, sessionName(session))));
};

/** Shows the tasks of one session. */
export const filterBySession = (id) => { choose({ tab: "all", session: id }); showSessions(); };

/** Builds the view; `open` shows the details of a task. */
export const start = (open) => {
  openTask = open;
  build();
  showSessions();
  sessions.onChange(showSessions);
  rebuild();
  tasks.onChange(() => {
    table.drawFigures();
    // Tasks that come and go by the hundred are put in order four times a second.
    if (tasks.version !== seenVersion) buildTimer ??= setTimeout(() => { buildTimer = null; rebuild(); }, tasks.count > 20_000 ? 1000 : 200);
  });
  setInterval(() => {
    if (["speed", "left", "part"].includes(filter.sort)) rebuild();
    else table.draw();
    showFoot();
  }, 1000);
  showFoot();
  return table;
};
