// Sessions: the list, and everything about one of them.

import { button, confirm, h, icon, say, write } from "./dom.js";
import { patch, post } from "./api.js";
import { count, fullTime, limitWords, parseLimit, plainRate } from "./format.js";
import { loadSessions, refreshSession, sessions, sessionName, takeSession } from "./sessions.js";
import { isDefault, labelOf, properties, shownValue } from "./session-config.js";
import { metadataHelp, openSessionForm } from "./session-form.js";
import { area, clearFaults, field, input, reading, readMetadata, showFault, writeMetadata } from "./form.js";
import { goOn, isChosenIn, keepingFocus } from "./focus.js";
import { cache, cookies, credentials } from "./session-stores.js";
import { filterBySession } from "./tasks-view.js";

let parts = null;
let shownID = null;

const kinds = { default: "On disk", ephemeral: "In memory", background: "Background", shared: "Shared" };
const states = { active: ["good", "Active"], invalidating: ["warn", "Finishing"], invalid: ["", "Ended"] };

const create = () => openSessionForm((session) => { location.hash = `sessions/${session.id}`; });

const build = (section) => {
  parts = { list: h("div"), pane: h("div.pane"),
    search: input({ type: "search", placeholder: "Search", "aria-label": "Search sessions by name, identifier or id", oninput: () => drawList() }) };
  parts.split = h("div.split", h("div.side", h("div.page-head", h("h1", "Sessions"), button("", "add", "New session", { onclick: create }), parts.search), parts.list), parts.pane);
  section.append(parts.split);
  sessions.onChange(drawList);
};

const drawList = () => {
  const entry = (session) => {
    const counts = session.taskCounts;
    const live = counts.running + counts.suspended + counts.canceling;
    return h("a.entry", { href: `#sessions/${session.id}`, "aria-current": session.id === shownID ? "true" : null },
      h("strong", sessionName(session)),
      h("span", [kinds[session.type], session.state !== "active" && states[session.state][1].toLowerCase(), live ? `${live} live` : null, `${counts.completed} done`].filter(Boolean).join(" · ")));
  };
  const text = parts.search.value.trim().toLowerCase();
  const list = sessions.all().filter((session) => [sessionName(session), session.identifier, session.id].some((one) => one?.toLowerCase().includes(text)));
  const over = list.filter((session) => session.state === "invalid");
  // What is over stays for a while, and is not what one looks for.
  const isOpen = parts.list.querySelector("details")?.open || text !== "" || over.some((session) => session.id === shownID);
  keepingFocus(parts.list, () => parts.list.replaceChildren(...list.filter((session) => session.state !== "invalid").map(entry),
    ...(over.length ? [h("details.over", { open: isOpen }, h("summary", `Ended (${over.length})`), over.map(entry))] : [])));
};

const perform = async (words, work) => {
  try { await work(); say(words); } catch (error) { say(error.message, { tone: "bad" }); }
};

const actions = (session) => {
  const self = session.links.self;
  const place = shownID;
  const again = async () => {
    const now = await refreshSession(session.id);
    if (shownID === place) keepingFocus(parts.pane, () => drawOne(now));
  };
  const end = async (mode, heading, words) => {
    if (await confirm(heading, words, "End it")) perform("The session ends.", async () => { takeSession(await post(`${self}/invalidate`, { mode })); await again(); });
  };
  const isActive = session.state === "active";
  return h("div.acts-line",
    button("", "list", "Its transfers", { onclick: () => { filterBySession(session.id); location.hash = "tasks"; } }),
    isActive && button("", "retry", "Reset", { title: "Empties cookies, credentials and cache, and brings downloads to the disk",
      onclick: async () => { if (await confirm("Reset the session?", "Cookies, credentials and cached answers are forgotten. Transfers go on.", "Reset")) perform("The session remembers nothing now.", async () => { await post(`${self}/reset`); await again(); }); } }),
    isActive && button("", "down", "Flush", { title: "Brings what is remembered to the disk, and uses new connections from now on",
      onclick: () => perform("Everything is on the disk.", () => post(`${self}/flush`)) }),
    isActive && session.type !== "shared" && button("", "check", "Finish and end", { onclick: () => end("finishTasks", "Finish and end the session?", "It takes no new transfers. Those that it has come to their end.") }),
    session.state !== "invalid" && session.type !== "shared" && button("danger", "close", "Cancel and end", { onclick: () => end("cancelTasks", "Cancel all and end the session?", "All its transfers are cancelled now.") }));
};

const settings = (session) => {
  const description = input({ value: session.description ?? "", maxlength: 1024 });
  const limit = input({ value: plainRate(session.maximumBytesPerSecond), placeholder: "none, or 2 MiB/s" });
  const metadata = area({ rows: 2, value: writeMetadata(session.metadata), placeholder: "project=apollo" });
  let now = session;
  const fields = [description, limit, metadata];
  let shown = fields.map((one) => one.value);
  const save = async (event) => {
    event.preventDefault();
    clearFaults(form);
    try {
      const changed = {};
      const typed = fields.map((one) => one.value);
      const isTyped = (one) => one.value !== shown[fields.indexOf(one)];
      // What was left alone is not sent: somebody else may have changed it, or put there what does not fit on a line.
      if (isTyped(description)) changed.description = description.value || null;
      if (isTyped(limit)) changed.maximumBytesPerSecond = reading("/maximumBytesPerSecond", () => parseLimit(limit.value));
      if (isTyped(metadata)) {
        changed.metadata = reading("/metadata", () => readMetadata(metadata.value));
        for (const name of Object.keys(now.metadata)) changed.metadata[name] ??= null;
      }
      if (Object.keys(changed).length) takeSession(now = await patch(session.links.self, changed));
      shown = typed;
      if (shownID === now.id) write(parts.pane.querySelector("h2"), sessionName(now));
      say("Saved.");
    } catch (error) { if (!showFault(form, error.pointer, error.message)) say(error.message, { tone: "bad" }); }
  };
  const form = h("form", { novalidate: true, onsubmit: save },
    h("div.fields", field("Description", description, { pointer: "/description" }),
      field("Limit of all its transfers", limit, { pointer: "/maximumBytesPerSecond" }),
      field("Metadata", metadata, { pointer: "/metadata", help: metadataHelp, wide: true })),
    h("div.acts-line", h("button", "Save")));
  return form;
};

const drawOne = (session) => {
  const counts = session.taskCounts;
  const [tone, words] = states[session.state];
  const configuration = Object.entries(properties).map(([heading, members]) => h("details", { open: heading !== "Without effect here" }, h("summary", heading),
    h("dl.facts", Object.keys(members).filter((name) => name in session.configuration).map((name) => {
      const value = session.configuration[name];
      const note = session.noEffect.includes(name) ? "no effect here" : isDefault(name, value) ? "default" : null;
      return [h("dt", { title: name }, labelOf(name)), h("dd", shownValue(name, value), note && h("span.quiet", ` · ${note}`))];
    }))));
  const delegate = session.delegate;
  parts.pane.replaceChildren(
    h("a.button.back", { href: "#sessions" }, "All sessions"),
    h("h2", { tabindex: "-1" }, sessionName(session)),
    h("p.quiet", [kinds[session.type], session.identifier && `identifier “${session.identifier}”`, `created ${fullTime(session.createdAt)}`].filter(Boolean).join(" · ")),
    h("p", h(`span.tag${tone ? `.${tone}` : ""}`, words), " ", h("span.quiet", `${count(counts.running, "transfer")} running, ${counts.suspended} suspended, ${counts.completed} done`),
      session.maximumBytesPerSecond ? h("span.quiet", ` · ${limitWords(session.maximumBytesPerSecond)}`) : null),
    actions(session),
    h("section", h("h3", "What can change"), settings(session)),
    h("section", h("h3", "Asks about"), h("p.quiet", delegate?.handles.length ? `${delegate.handles.join(", ")}, for ${delegate.decisionTimeout} s` : "Nothing: every question takes its default.")),
    h("section", h("h3", "Cookies"), cookies(session)), h("section", h("h3", "Credentials"), credentials(session)), h("section", h("h3", "Cache"), cache(session)),
    h("section", h("h3", "Configuration"), configuration),
    h("section", h("h3", "For programs"), h("dl.facts", h("dt", "Id"), h("dd", h("code", session.id)), h("dt", "Path"), h("dd", h("code", session.links.self)))));
};

export const show = async (section, id = null) => {
  if (!parts) build(section);
  const before = shownID;
  const takesFocus = before !== id && isChosenIn(parts.split);
  shownID = id;
  await loadSessions();
  if (shownID !== id) return;
  parts.split.classList.toggle("with-one", Boolean(id));
  await drawPane(id);
  if (takesFocus && shownID === id) goOn(parts.split, { isOpen: Boolean(id), before: `#sessions/${before}` });
};

const drawPane = async (id) => {
  if (!id) {
    parts.pane.replaceChildren(h("div.note", icon("stack", "large"), h("h2", "A session is what transfers share"),
      h("p", "Time-outs, headers, a proxy, cookies, credentials, a cache, a limit, and whom to ask. Choose one, or make one."),
      button("primary", "add", "New session", { onclick: create })));
    return;
  }
  try {
    const session = await refreshSession(id);
    // Another one may have been chosen meanwhile.
    if (shownID === id) drawOne(session);
  } catch (error) {
    if (shownID !== id) return;
    if (error.status !== 404) throw error;
    parts.pane.replaceChildren(h("div.note", icon("alert", "large"), h("h2", { tabindex: "-1" }, "There is no such session"), h("p", "It has ended, and was forgotten with its last transfer.")));
  }
};
