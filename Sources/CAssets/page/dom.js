// Elements, made without a framework. Text is always text: nothing here parses HTML.

import { visible } from "./format.js";

const properties = new Set(["value", "checked", "disabled", "hidden", "indeterminate", "open", "selected"]);
/** Attributes that people read or hear. */
const words = new Set(["title", "aria-label", "alt", "placeholder", "download"]);

const set = (element, attributes) => {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (properties.has(name)) element[name] = value;
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, words.has(name) ? visible(value) : value);
  }
};

/** An element: `h("p.quiet.small", {id: "a", onclick: f}, "text", other)`. */
export const h = (spec, ...rest) => {
  const [tag, ...classes] = spec.split(".");
  const element = document.createElement(tag || "div");
  if (classes.length) element.className = classes.join(" ");
  for (const part of rest.flat(Infinity)) {
    if (part == null || part === false) continue;
    if (part.constructor === Object) set(element, part);
    else element.append(part instanceof Node ? part : visible(part));
  }
  return element;
};

export const byId = (id) => document.getElementById(id);

/** Sets a text only where it differs: nothing is laid out again for nothing. */
export const write = (element, text) => {
  const seen = visible(text);
  if (element.textContent !== seen) element.textContent = seen;
};

const shapes = {
  add: "M8 3v10M3 8h10",
  alert: "M8 2.2 14.5 13.5h-13zM8 6.5v3M8 11.4v.2",
  ban: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM4 4l8 8",
  bell: "M4 11V7a4 4 0 0 1 8 0v4l1 1.5H3zM6.8 14h2.4",
  check: "M3 8.5 6.5 12 13 4.5",
  clock: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM8 5v3.2l2 1.3",
  close: "M4 4l8 8M12 4l-8 8",
  down: "M8 2.5v8M4.5 7.5 8 11l3.5-3.5M3 13.5h10",
  file: "M4 2h5l3 3v9H4zM9 2v3h3",
  gauge: "M2.5 12a6 6 0 1 1 11 0M8 9.5 11 6",
  help: "M6 6a2 2 0 1 1 2.6 1.9c-.4.2-.6.5-.6 1V9.5M8 11.8v.2",
  hook: "M8 2a2.5 2.5 0 0 0-1 4.8L4.6 11M8 2a2.5 2.5 0 0 1 2.4 3.2M9 6.5l2.3 3.6M6.8 12.5h4.4M4 10.5a2 2 0 1 0 .2 0M12.2 10.5a2 2 0 1 0 .1 0",
  key: "M6 6.5a2.5 2.5 0 1 0 0 3M6.2 8H14v2.2M11.5 8v1.8",
  list: "M5.5 4H14M5.5 8H14M5.5 12H14M2.2 4h.3M2.2 8h.3M2.2 12h.3",
  lock: "M4 7.5h8V14H4zM5.5 7.5V5.2a2.5 2.5 0 0 1 5 0v2.3",
  more: "M3.5 8h.2M8 8h.2M12.5 8h.2",
  pause: "M5.5 3.5v9M10.5 3.5v9",
  people: "M6 7.6a2.3 2.3 0 1 0 0-4.6 2.3 2.3 0 0 0 0 4.6zM1.8 13.2C1.8 10.8 3.7 9.5 6 9.5s4.2 1.3 4.2 3.7M10.4 3.2a2.3 2.3 0 0 1 0 4.2M11.8 9.8c1.5.5 2.4 1.7 2.4 3.4",
  play: "M5 3.2v9.6L12.5 8z",
  question: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM6.4 6.4a1.6 1.6 0 1 1 2.2 1.5c-.4.2-.6.5-.6.9M8 11v.2",
  retry: "M13 8a5 5 0 1 1-1.6-3.7M13 2.5v3h-3",
  search: "M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM10.4 10.4 14 14",
  stack: "M2.5 5.5 8 2.8l5.5 2.7L8 8.2zM2.5 8.2 8 10.9l5.5-2.7M2.5 10.9 8 13.6l5.5-2.7",
  trash: "M3 4.5h10M6.5 4.5V3h3v1.5M4.5 4.5 5 13.5h6l.5-9M7 7v4M9 7v4",
  up: "M8 11V3M4.5 6 8 2.5 11.5 6M3 13.5h10",
};

/** A drawing of 16 units; it never speaks for itself, words stand beside it. */
export const icon = (name, ...classes) => {
  const space = "http://www.w3.org/2000/svg";
  const drawing = document.createElementNS(space, "svg");
  drawing.setAttribute("viewBox", "0 0 16 16");
  drawing.setAttribute("aria-hidden", "true");
  drawing.setAttribute("class", ["icon", ...classes].join(" "));
  const line = document.createElementNS(space, "path");
  line.setAttribute("d", shapes[name]);
  drawing.append(line);
  return drawing;
};

/** Another drawing in the same place. */
export const redraw = (drawing, name) => {
  if (drawing.dataset.name === name) return;
  drawing.dataset.name = name;
  drawing.firstChild.setAttribute("d", shapes[name]);
};

/** A button with a drawing and, unless `label` alone has to do, words. */
export const button = (spec, drawing, words, attributes = {}) =>
  h(`button.${spec}`, { type: "button", ...attributes }, drawing && icon(drawing), words && h("span", words));

/** A button that is only a drawing: the label tells what it does, and to what. */
export const iconButton = (drawing, label, onclick, attributes = {}) =>
  h("button.plain.square", { type: "button", "aria-label": label, title: label, onclick, ...attributes }, icon(drawing));

/**
 * A modal dialog with a heading, removed when it closes. Esc and its cross ask first where something
 * has been typed; `mayLose()` tells what else would be lost, and `loss` is what is asked then.
 */
export const dialog = (heading, { wide = false, onclose, describedby, mayLose,
  loss = ["Throw away what you have entered?", `“${heading}” is not finished.`, "Throw away"] } = {}) => {
  const title = h("h2", { id: `title-${++dialogs}`, tabindex: "-1" }, heading);
  const body = h("div.dialog-body");
  const foot = h("div.dialog-foot");
  let isTyped = false;
  const leave = async () => {
    if (!(isTyped || mayLose?.()) || await confirm(...loss)) box.close();
  };
  const box = h(
    `dialog${wide ? ".wide" : ""}`, { "aria-labelledby": title.id, "aria-describedby": describedby },
    h("header.dialog-head", title, iconButton("close", "Close", leave)), body, foot);
  body.addEventListener("input", () => { isTyped = true; });
  onEscape(box, leave);
  ignoreHeld(box);
  box.addEventListener("close", () => { box.remove(); onclose?.(); });
  document.body.append(box);
  return { box, title, body, foot, show: () => { box.showModal(); return box; } };
};
let dialogs = 0;

/** Does `leave` in place of closing. By the key itself: a browser closes at the second Esc whatever `cancel` says. */
export const onEscape = (box, leave) => {
  box.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || event.defaultPrevented || event.isComposing) return;
    event.preventDefault();
    event.stopPropagation();
    if (!event.repeat) leave();
  });
  box.addEventListener("cancel", (event) => {
    // A file chooser inside of it tells of its own end by the same name.
    if (event.target !== box) return;
    event.preventDefault();
    leave();
  });
};

/** The key that has opened a dialog answers nothing in it, however long it is held. */
const ignoreHeld = (box) => {
  let isFresh = false;
  box.addEventListener("keydown", (event) => {
    if (!event.repeat) isFresh = true;
    else if (!isFresh) event.preventDefault();
  }, { capture: true });
};

/** Asks before what cannot be taken back: the answer that keeps everything has the focus. */
export const confirm = (heading, words, action) => new Promise((resolve) => {
  let answer = false;
  const { box, body, foot, show } = dialog(heading, { onclose: () => resolve(answer) });
  const keep = h("button", { type: "button", onclick: () => box.close() }, "Keep");
  body.append(h("p", words));
  foot.append(keep, h("button.danger", { type: "button", onclick: () => { answer = true; box.close(); } }, action));
  show();
  keep.focus();
});

/** Fills a place by `load`; where that fails it says so there, and can be tried again. */
export const fill = async (place, load) => {
  try { await load(); } catch (error) {
    place.replaceChildren(h("p.fault", { role: "alert" }, `This could not be loaded: ${error.message}`),
      h("div.acts-line", button("", "retry", "Try again", { onclick: () => fill(place, load) })));
  }
};

/** One message at a time: seen by everybody, and spoken. */
export const say = (words, { tone = "", action, onaction } = {}) => {
  const place = byId("toasts");
  const toast = h(`div.toast${tone ? `.${tone}` : ""}`, h("span", words));
  if (action) toast.append(h("button.plain", { type: "button", onclick: () => { toast.remove(); onaction(); } }, action));
  toast.append(iconButton("close", "Dismiss this message", () => toast.remove()));
  while (place.children.length > 2) place.firstChild.remove();
  place.append(toast);
  setTimeout(() => toast.remove(), action || tone === "bad" ? 12_000 : 6_000);
};

/** Spoken only: what changes without anybody having pressed anything. */
export const speak = (words) => { byId("spoken").textContent = words; };
