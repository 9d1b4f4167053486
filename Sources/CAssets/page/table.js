// A list of any length of which only the lines in sight are there.

import { RowView } from "./row-view.js";
import { h, speak } from "./dom.js";

const overscan = 6;
/** Figures are read, not watched: four times a second is what an eye follows. */
const figureInterval = 250;

export class Table {
  rows = [];
  current = 0;
  #views = new Map();
  #spare = [];
  #frame = null;
  #lastAt = 0;
  #timer = null;
  #anchor = null;

  /** `open(row)` shows the details; `onpick()` is called when the selection has changed. */
  constructor(scroller, grid, { open, onpick, refresh }) {
    this.scroller = scroller;
    this.grid = grid;
    this.space = h("div.rows", { role: "rowgroup" });
    grid.append(this.space);
    this.open = open;
    this.refresh = refresh;
    this.onpick = onpick;
    this.picked = new Set();
    scroller.addEventListener("scroll", () => this.draw(), { passive: true });
    new ResizeObserver(() => { this.#measure(); this.draw(); }).observe(scroller);
    grid.addEventListener("focusin", (event) => {
      const line = event.target.closest(".row[data-task]");
      if (line) this.select(this.rows.findIndex((row) => row.id === line.dataset.task), false);
    });
    grid.addEventListener("click", (event) => {
      const line = event.target.closest(".row[data-task]");
      if (line && !event.target.closest("button, a, input, label")) {
        this.select(this.rows.findIndex((row) => row.id === line.dataset.task), false);
        this.grid.focus({ preventScroll: true });
      }
    });
    this.#measure();
  }

  #measure() {
    this.height = Number.parseFloat(getComputedStyle(this.grid).getPropertyValue("--row")) || 56;
  }

  get currentRow() { return this.rows[this.current] ?? null; }

  /** Other lines, or another order. The current task stays current wherever it is now. */
  setRows(rows) {
    const id = this.currentRow?.id;
    this.rows = rows;
    const place = id ? rows.findIndex((row) => row.id === id) : 0;
    this.current = place >= 0 ? place : Math.min(this.current, Math.max(0, rows.length - 1));
    this.grid.setAttribute("aria-rowcount", rows.length + 1);
    this.space.style.height = `${rows.length * this.height}px`;
    this.draw();
  }

  /** Draws soon: at once what moved, at leisure what only counts. */
  draw() { this.#frame ??= requestAnimationFrame(() => { this.#frame = null; this.#draw(); }); }

  drawFigures() {
    if (this.#timer) return;
    const wait = Math.max(0, figureInterval - (performance.now() - this.#lastAt));
    this.#timer = setTimeout(() => { this.#timer = null; this.draw(); }, wait);
  }

  #draw() {
    const now = this.#lastAt = performance.now();
    const height = `${this.rows.length * this.height}px`;
    if (this.space.style.height !== height) this.space.style.height = height;
    const top = Math.max(0, this.scroller.scrollTop - this.space.offsetTop);
    const first = Math.max(0, Math.floor(top / this.height) - overscan);
    const last = Math.min(this.rows.length, Math.ceil((top + this.scroller.clientHeight) / this.height) + overscan);
    const needed = new Map();
    for (let index = first; index < last; index += 1) needed.set(this.rows[index].id, index);
    for (const [id, view] of this.#views) {
      if (needed.has(id)) continue;
      this.#views.delete(id);
      this.#spare.push(view);
    }
    for (const [id, index] of needed) {
      const row = this.rows[index];
      let view = this.#views.get(id);
      if (!view) {
        view = this.#spare.pop() ?? new RowView(this.open, (...pick) => this.pick(...pick));
        if (!view.element.isConnected) this.space.append(view.element);
        view.element.hidden = false;
        this.#views.set(id, view);
      }
      view.show(row, index, {
        current: index === this.current, picked: this.picked.has(id), now, top: index * this.height,
      });
      if (row.isStale) { row.isStale = false; this.refresh(row.id); }
    }
    for (const view of this.#spare) view.element.hidden = true;
    const active = this.#views.get(this.currentRow?.id);
    if (active) this.grid.setAttribute("aria-activedescendant", active.element.id);
    else this.grid.removeAttribute("aria-activedescendant");
  }

  /** Makes a line the current one, and brings it into sight. */
  select(index, scroll = true) {
    if (!this.rows.length) return;
    this.current = Math.max(0, Math.min(this.rows.length - 1, index));
    if (scroll) {
      const top = this.space.offsetTop + this.current * this.height;
      const head = this.space.offsetTop;
      if (top - head < this.scroller.scrollTop) this.scroller.scrollTop = top - head;
      const end = top + this.height - this.scroller.clientHeight;
      if (end > this.scroller.scrollTop) this.scroller.scrollTop = end;
      const row = this.currentRow;
      speak(`${row.name}, ${row.words}`);
    }
    this.draw();
  }

  /** Makes a task the current one wherever it is. */
  focusOn(id) {
    const index = this.rows.findIndex((row) => row.id === id);
    if (index >= 0 && index !== this.current) this.select(index);
  }

  move(step) { this.select(this.current + step); this.grid.focus({ preventScroll: true }); }

  /** Selects a task for what is done with many; with shift all from the one before. */
  pick(row, isPicked, isRange) {
    const index = this.rows.indexOf(row);
    const from = isRange && this.#anchor !== null ? this.#anchor : index;
    for (let each = Math.min(from, index); each <= Math.max(from, index); each += 1) {
      if (isPicked) this.picked.add(this.rows[each].id);
      else this.picked.delete(this.rows[each].id);
    }
    this.#anchor = index;
    this.onpick();
    this.draw();
  }

  unpick(ids) {
    for (const id of ids) this.picked.delete(id);
    this.onpick();
    this.draw();
  }

  pickAll(isPicked) {
    this.picked = new Set(isPicked ? this.rows.map((row) => row.id) : []);
    this.onpick();
    this.draw();
  }
}
