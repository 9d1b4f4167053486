// One line of the list. Lines are used again for other tasks while one scrolls.

import { h, icon, redraw, write } from "./dom.js";
import { duration, moment, fullTime, percent, rate, size, visible } from "./format.js";
import * as actions from "./actions.js";

const drawings = {
  done: "check", refused: "alert", failed: "alert", cancelled: "ban", paused: "pause", asks: "question", waits: "clock",
  running: "play", ending: "ban",
};

/** What the first button of a line does, by the state. */
const firstActions = {
  running: ["pause", "Suspend", "suspend"], waits: ["pause", "Suspend", "suspend"], asks: ["pause", "Suspend", "suspend"],
  paused: ["play", "Resume", "resume"], failed: ["retry", "Retry", "retry"], refused: ["retry", "Retry", "retry"],
  cancelled: ["retry", "Start again", "retry"], done: ["retry", "Fetch again", "retry"], ending: ["ban", "Stopping", null],
};

/** How far a transfer has come, in words: "12.0 of 45.3 MiB", or the size once it is over. */
export const amount = (row) => {
  if (row.state === "completed") return size(row.size);
  if (row.whole < 0) return row.done > 0 ? size(row.done) : "";
  const whole = size(row.whole);
  if (row.done <= 0) return whole;
  const done = size(row.done);
  const [number, unit] = done.split(" ");
  return unit === whole.split(" ")[1] ? `${number} of ${whole}` : `${done} of ${whole}`;
};

export class RowView {
  row = null;
  #version = -1;

  constructor(open, pick) {
    const cell = (name, ...content) => h(`div.cell.${name}`, { role: "gridcell" }, ...content);
    this.box = h("input", { type: "checkbox", onclick: (event) => pick(this.row, event.target.checked, event.shiftKey) });
    this.name = h("button.name", { type: "button", onclick: () => open(this.row) });
    this.host = h("bdi");
    this.dot = h("span");
    this.description = h("bdi");
    this.drawing = icon("check");
    this.words = h("span");
    this.fill = h("i");
    this.bar = h("div.bar", { role: "progressbar", "aria-valuemin": "0", "aria-valuemax": "100" }, this.fill);
    this.part = h("span.part");
    this.firstDrawing = icon("pause");
    this.first = h("button.plain.square", { type: "button", onclick: () => this.#first() }, this.firstDrawing);
    this.save = h("a.button.plain.square", { download: "" }, icon("down"));
    this.lastDrawing = icon("close");
    this.last = h("button.plain.square", { type: "button", onclick: () => this.#last() }, this.lastDrawing);
    this.cells = {
      size: cell("size"), speed: cell("speed"), left: cell("left"), added: cell("added"),
    };
    this.element = h(
      "div.row", { role: "row" },
      cell("pick", h("label.hit", this.box)),
      cell("title", this.name, h("div.under", this.host, this.dot, this.description)),
      cell("state", this.drawing, this.words),
      cell("progress", this.bar, this.part),
      this.cells.size, this.cells.speed, this.cells.left, this.cells.added,
      cell("acts", this.first, this.save, this.last));
    this.controls = [this.box, this.name, this.first, this.save, this.last];
    this.element.addEventListener("dblclick", (event) => {
      if (!event.target.closest("button, a, input, label")) open(this.row);
    });
  }

  /** Shows a task at its place; what is the same already is left alone. */
  show(row, index, { current, picked, now, top }) {
    const isNew = row !== this.row;
    if (isNew) {
      this.row = row;
      this.#version = -1;
      this.element.id = `row-${row.id}`;
      this.element.dataset.task = row.id;
    }
    if (this.top !== top) { this.top = top; this.element.style.transform = `translateY(${top}px)`; }
    if (this.index !== index) { this.index = index; this.element.setAttribute("aria-rowindex", index + 2); }
    if (this.current !== current) {
      this.current = current;
      this.element.classList.toggle("current", current);
      for (const control of this.controls) control.tabIndex = current ? 0 : -1;
    }
    if (this.box.checked !== picked || isNew) {
      this.box.checked = picked;
      this.element.setAttribute("aria-selected", picked);
      this.element.classList.toggle("picked", picked);
    }
    if (this.#version !== row.version) this.#fill(row);
    write(this.cells.speed, row.kind === "running" ? rate(row.speed(now)) : "");
    const left = row.secondsLeft(now);
    write(this.cells.left, Number.isNaN(left) ? this.#timeWords(row) : duration(left));
  }

  #timeWords(row) {
    if (row.waitingFor === "retry" && row.nextAttemptAt) return duration((Date.parse(row.nextAttemptAt) - Date.now()) / 1000);
    return row.kind === "running" ? "–" : "";
  }

  #fill(row) {
    this.#version = row.version;
    const kind = row.kind;
    this.element.dataset.kind = kind;
    write(this.name, row.name);
    this.name.title = visible(row.url);
    write(this.host, row.host);
    write(this.dot, row.host && row.description ? " · " : "");
    write(this.description, row.description);
    redraw(this.drawing, drawings[kind]);
    write(this.words, row.words);
    const part = row.part;
    this.bar.classList.toggle("unknown", part === null && kind === "running");
    this.fill.style.transform = `scaleX(${part ?? 0})`;
    if (part === null) this.bar.removeAttribute("aria-valuenow");
    else this.bar.setAttribute("aria-valuenow", Math.floor(part * 100));
    this.bar.setAttribute("aria-label", `Progress of ${row.name}`);
    write(this.part, part === null ? "" : percent(part));
    write(this.cells.size, amount(row));
    write(this.cells.added, moment(row.createdAt));
    this.cells.added.title = fullTime(row.createdAt);
    this.box.setAttribute("aria-label", `Select ${row.name}`);
    const [drawing, label, action] = firstActions[kind];
    redraw(this.firstDrawing, drawing);
    this.first.disabled = !action;
    this.#name(this.first, `${label} ${row.name}`);
    this.save.hidden = !(row.hasContent || row.isStale) || row.state !== "completed" || !!row.error;
    this.save.href = `/v1/tasks/${row.id}/content`;
    this.#name(this.save, `Save ${row.name}`);
    redraw(this.lastDrawing, row.state === "completed" ? "trash" : "close");
    this.#name(this.last, `${row.state === "completed" ? "Delete" : "Cancel"} ${row.name}`);
  }

  #name(control, label) {
    if (control.title === label) return;
    control.title = label;
    control.setAttribute("aria-label", label);
  }

  #first() {
    const action = firstActions[this.row.kind][2];
    if (action) actions.perform(action, [this.row]);
  }

  #last() { actions.perform(this.row.state === "completed" ? "delete" : "cancel", [this.row]); }
}
