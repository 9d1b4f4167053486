// The frame of the page: views, keys, banner and title.

import { button, byId, dialog, h, icon, iconButton, say, write } from "./dom.js";
import { listen, onState } from "./live.js";
import { isSigningIn, signIn, signInAgain, signOut } from "./sign-in.js";
import { learnRights, rights } from "./rights.js";
import { perform } from "./actions.js";
import { pickedRows, start as startTasks } from "./tasks-view.js";
import { tasks } from "./tasks.js";
import { decisions, start as startDecisions } from "./decisions.js";
import { percent } from "./format.js";

const views = [
  ["tasks", "list", "Transfers"], ["decisions", "question", "Decisions"], ["sessions", "stack", "Sessions"],
  ["webhooks", "hook", "Webhooks"], ["overview", "gauge", "Overview"], ["admin", "people", "Admin"],
];
/** Modules that are loaded when their view is opened first. */
const later = {
  decisions: () => import("./decisions-view.js"), sessions: () => import("./sessions-view.js"),
  webhooks: () => import("./webhooks-view.js"), overview: () => import("./overview.js"), admin: () => import("./admin-view.js"),
};
const links = {};
const badge = h("span.badge", { hidden: true });
let table = null;
let cutTimer = null;
let isShown = false;

// MARK: views

const current = () => {
  const [view, ...rest] = location.hash.slice(1).split("/");
  return views.some(([key]) => key === view && (key !== "admin" || rights.mayManage)) ? [view, ...rest] : ["tasks"];
};

const show = async () => {
  isShown = true;
  const [view, id] = current();
  for (const [key] of views) {
    byId(key).hidden = key !== view;
    if (key === view) links[key].setAttribute("aria-current", "page");
    else links[key].removeAttribute("aria-current");
  }
  document.body.dataset.view = view;
  try {
    if (later[view]) await (await later[view]()).show(byId(view), id);
    byId(view).querySelector(":scope > .load-fault")?.remove();
    const detail = await (view === "tasks" && id ? import("./detail.js") : null);
    if (current()[0] !== view || current()[1] !== id) return;
    if (detail) { table.focusOn(id); detail.open(id); }
    else if (!byId("detail").hidden) (await import("./detail.js")).close();
  } catch (error) {
    // Whoever has gone on is not told; nor is anything left in a view that has closed.
    if (current()[0] !== view) return;
    if (view === "admin" && error.status === 403) learnRights();
    const note = h("div.load-fault", { role: "alert" }, icon("alert"), h("span", `This could not be loaded: ${error.message}`),
      button("", "retry", "Try again", { onclick: show }));
    byId(view).querySelector(":scope > .load-fault")?.remove();
    byId(view).prepend(note);
  }
};

/** After a cut the view in sight is loaded anew where that failed, or where no events keep it as it is. */
const showAgain = () => {
  const section = byId(current()[0]);
  const isStale = ["webhooks", "admin"].includes(section.id) && !section.contains(document.activeElement);
  if (isStale || section.querySelector(":scope > .load-fault")) show();
};

/** The view for administrators comes and goes with the token. */
const showRights = () => {
  links.admin.parentElement.hidden = !rights.mayManage;
  if (isShown && location.hash.startsWith("#admin")) show();
};

const openTask = (id) => { location.hash = `tasks/${id}`; };

const build = () => {
  byId("nav").append(h("ul", views.map(([key, drawing, label]) => {
    links[key] = h("a", { href: `#${key}` }, icon(drawing), h("span", label), key === "decisions" && badge);
    return h("li", { hidden: key === "admin" }, links[key]);
  })));
  rights.onChange(showRights);
  byId("tools").append(
    iconButton("help", "Keys and help", help, { "aria-keyshortcuts": "?" }),
    button("plain.sign-out", null, "Sign out", { onclick: leave }),
    button("primary", "add", "New", { id: "new", "aria-label": "New transfer", "aria-keyshortcuts": "n", onclick: () => create() }));
  document.addEventListener("ferry:new", () => create());
  addEventListener("hashchange", show);
};

const create = async (given) => {
  try { (await import("./new.js")).open(given); } catch (error) { say(error.message, { tone: "bad" }); }
};

const leave = async () => {
  try {
    await signOut();
    location.replace("/");
  } catch (error) { say(`Not signed out: ${error.message}`, { tone: "bad" }); }
};

// MARK: the stream

onState(({ kind, status }) => {
  const banner = byId("banner");
  clearTimeout(cutTimer);
  if (kind === "open") { banner.hidden = true; showAgain(); return; }
  if (kind === "signedOut") { banner.hidden = true; signInAgain().then(listen); return; }
  // A cut that mends itself at once is not worth a word.
  cutTimer = setTimeout(() => {
    const words = status === 403 ? "Your token may not follow events: what you see is as it was when the page was loaded."
      : status ? `The gateway refuses its events (${status}). What you see may be old; it goes on by itself.`
        : "The gateway does not answer. What you see may be old; it goes on by itself.";
    banner.replaceChildren(icon("alert"), h("span", words),
      button("", "retry", "Try now", { onclick: listen }));
    banner.hidden = false;
  }, 1200);
});

// MARK: title

const title = () => {
  const waiting = decisions.count;
  badge.hidden = waiting === 0;
  write(badge, String(waiting));
  if (waiting) links.decisions.setAttribute("aria-label", `Decisions, ${waiting} waiting`);
  else links.decisions.removeAttribute("aria-label");
  let done = 0, whole = 0;
  for (const row of tasks.all()) {
    if (row.state === "running" && row.whole > 0) { done += Math.max(0, row.done); whole += row.whole; }
  }
  const words = `${waiting ? `(${waiting}) ` : ""}${whole > 0 ? `${percent(done / whole)} · ` : ""}Ferry`;
  if (document.title !== words) document.title = words;
};

// MARK: keys

const keys = [
  ["n", "New transfer"], ["/", "Search"], ["j k", "Down and up the list"], ["Enter", "Details"],
  ["Space", "Suspend or resume"], ["x", "Cancel"], ["s", "Select"], ["Esc", "Close"], ["?", "This help"],
];

const help = () => {
  const { body, foot, box, show: open } = dialog("Keys");
  body.append(
    h("dl.keys", keys.map(([key, words]) => [h("dt", key.split(" ").map((one) => h("kbd", one))), h("dd", words)])),
    h("p.quiet", "Space and x act on the selected transfers, or else on the current one. All that this page does can be done by programs, too: ",
      h("a", { href: "/openapi.yaml" }, "/openapi.yaml"), "."));
  foot.append(h("button", { type: "button", onclick: leave }, "Sign out"),
    h("button.primary", { type: "button", onclick: () => box.close() }, "Close"));
  open();
};

/** Keys that go on while they are held. */
const moving = new Set(["j", "k", "ArrowDown", "ArrowUp", "PageDown", "PageUp"]);

const onKey = (event) => {
  // A key that is held does once what its button does.
  if (event.repeat && event.key === "Enter" && event.target.closest("button, a, summary")) event.preventDefault();
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isSigningIn()) return;
  const target = event.target;
  const isTyping = target.closest("input:not([type=checkbox]), textarea, select");
  if (event.key === "Escape" && !document.querySelector("dialog[open]")) {
    if (!byId("detail").hidden) { location.hash = "tasks"; byId("task-grid").focus(); event.preventDefault(); }
    else if (isTyping) target.blur();
    return;
  }
  if (isTyping || document.querySelector("dialog[open]")) return;
  const isList = current()[0] === "tasks";
  const chosen = () => (pickedRows().length ? pickedRows() : [table.currentRow].filter(Boolean));
  const acts = {
    n: () => create(),
    "?": help,
    "/": () => { location.hash = "tasks"; byId("search").focus(); },
  };
  const onControl = target.closest("button, a, input, summary");
  if (isList) {
    Object.assign(acts, {
      j: () => table.move(1), k: () => table.move(-1),
      x: () => perform("cancel", chosen()),
      s: () => table.currentRow && table.pick(table.currentRow, !table.picked.has(table.currentRow.id), false),
    });
    if (target.id === "task-grid" || target === document.body) {
      Object.assign(acts, {
        ArrowDown: () => table.move(1), ArrowUp: () => table.move(-1), Home: () => table.select(0),
        End: () => table.select(table.rows.length - 1), PageDown: () => table.move(10), PageUp: () => table.move(-10),
      });
    }
    if (!onControl) {
      acts.Enter = () => table.currentRow && openTask(table.currentRow.id);
      acts[" "] = () => {
        const rows = chosen();
        perform(rows.some((row) => row.state === "running") ? "suspend" : "resume", rows);
      };
    }
  }
  const act = acts[event.key];
  if (!act) return;
  event.preventDefault();
  if (!event.repeat || moving.has(event.key)) act();
};

// MARK: dropped files

let isOwnDrag = false;

/** Whether the page takes what is dragged: files and links from elsewhere, but no text, and nothing from under a field. */
const isTaken = ({ target, dataTransfer }) => {
  const element = target instanceof Element ? target : target.parentElement;
  if (isOwnDrag || isSigningIn() || document.querySelector("dialog[open]:not(:has(form.new))")) return false;
  const types = [...dataTransfer.types];
  return types.includes("Files") || (types.includes("text/uri-list") && !element?.closest("input, textarea"));
};

const onDrag = (event) => {
  const takes = isTaken(event);
  byId("drop").hidden = !takes;
  if (takes) event.preventDefault();
};

const onDrop = (event) => {
  byId("drop").hidden = true;
  if (event.defaultPrevented || !isTaken(event)) return;
  event.preventDefault();
  const { files } = event.dataTransfer;
  const text = event.dataTransfer.getData("text/uri-list");
  if (files.length || text) create(files.length ? { files: [...files] } : { text });
};

const begin = async () => {
  build();
  addEventListener("keydown", onKey);
  addEventListener("dragenter", onDrag);
  addEventListener("dragover", onDrag);
  addEventListener("dragstart", () => { isOwnDrag = true; });
  addEventListener("dragend", () => { isOwnDrag = false; });
  addEventListener("dragleave", (event) => { if (!event.relatedTarget) byId("drop").hidden = true; });
  addEventListener("drop", onDrop);
  await signIn();
  const known = learnRights();
  table = startTasks(openTask);
  startDecisions(title);
  listen();
  if (location.hash.startsWith("#admin")) await known;
  await show();
  setInterval(title, 1000);
};

begin();
