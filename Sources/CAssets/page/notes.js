// Notes of the browser's own, for those who do other things meanwhile. Only where somebody has asked for them here.

import { button, h } from "./dom.js";
import { count, visible } from "./format.js";

const setting = "ferry.notes";
const isKnown = () => "Notification" in window && window.isSecureContext;

/** Whether they are wanted: the browser's permission is for the whole site, the wish is this page's. */
const isOn = () => isKnown() && Notification.permission === "granted" && localStorage.getItem(setting) === "on";

/** Shows one while nobody looks at the page; another one of the same `tag` takes its place. */
const note = (heading, body, tag, place) => {
  if (!document.hidden || !isOn()) return;
  let shown;
  // Some browsers have the constructor and refuse to be called without a service worker.
  try { shown = new Notification(visible(heading), { body: visible(body), tag }); } catch { return; }
  shown.onclick = () => { window.focus(); location.hash = place; shown.close(); };
};

/** Tells of a question that has come. */
export const noteQuestion = (id, heading, name) => note(heading, name, `ferry ${id}`, `decisions/${id}`);

/** Tells of transfers that have ended together: of one by its name, of more by their number. Who has cancelled some knows. */
export const noteEnds = ({ done, failed, cancelled, row }) => {
  if (!done && !failed) return;
  if (done + failed + cancelled === 1) note(`${row.name}: ${row.words}`, row.host, `ferry ${row.id}`, `tasks/${row.id}`);
  else note(failed ? `${count(failed, "transfer")} failed` : `${count(done, "transfer")} done`, failed && done ? `${count(done, "transfer")} done.` : "", "ferry ends", "tasks");
};

/** The button that turns them on and off, where the browser has them. */
export const noteSwitch = () => {
  const place = h("div.notes");
  const draw = () => {
    if (!isKnown()) place.replaceChildren();
    else if (Notification.permission === "denied") place.replaceChildren(h("p.quiet", "The browser does not let this page show notifications: its settings for the site can allow them."));
    else if (isOn()) place.replaceChildren(button("", "bell", "Do not notify me", { onclick: () => { localStorage.setItem(setting, "off"); draw(); } }));
    else place.replaceChildren(button("", "bell", "Notify me", { title: "When a transfer ends or asks while this page is in the background", onclick: ask }));
  };
  const ask = async () => {
    if (await Notification.requestPermission() === "granted") localStorage.setItem(setting, "on");
    draw();
  };
  draw();
  return place;
};
