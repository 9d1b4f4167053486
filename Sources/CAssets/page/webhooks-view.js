// Webhooks: addresses that events are posted to, and what has become of each event.

import { button, confirm, fill, h, icon, say } from "./dom.js";
import { all, Creations, get, patch, post, remove } from "./api.js";
import { field, formDialog, input, select } from "./form.js";
import { count, fullTime, span } from "./format.js";
import { goOn, isChosenIn, keepingFocus } from "./focus.js";
import { secretDialog } from "./secret.js";
import { sessions, sessionName } from "./sessions.js";

let parts = null;
let shownID = null;
const known = new Map();

const tones = { active: ["good", "Active"], paused: ["warn", "Paused"], disabled: ["bad", "Disabled"] };
const reasons = { gone: "the receiver answered 410", failing: "it took nothing for 5 days", backlog: "too much was waiting" };
const deliveryTones = { delivered: "good", pending: "warn", failed: "bad" };
const names = ["task.didComplete", "download.didFinishDownloading", "task.didCreate", "task.willRetry", "session.didReceiveChallenge",
  "task.didReceiveChallenge", "session.didFinishEvents", "session.didBecomeInvalid"];

const failing = async (work, words) => { try { await work(); if (words) say(words); } catch (error) { say(error.message, { tone: "bad" }); } };

const showSecret = (heading, secret) => secretDialog(heading, "It signs what is posted. It is shown this once: copy it now.", secret);

const create = () => {
  const creations = new Creations();
  const url = input({ type: "url", placeholder: "https://app.example.com/ferry" });
  const description = input({ maxlength: 1024 });
  const session = select([["", "All sessions"], ...sessions.active().filter(({ type }) => type !== "ephemeral").map((one) => [one.id, sessionName(one)])]);
  const every = input({ type: "checkbox" });
  const boxes = names.map((name) => [name, input({ type: "checkbox", checked: name === "task.didComplete" })]);
  const content = [
    h("div.fields", field("Address", url, { pointer: "/url", wide: true }), field("Of", session, { pointer: "/session" }), field("Description", description, { pointer: "/description" })),
    h("fieldset", { "data-pointer": "/events" }, h("legend", "Events"), h("span.fault"), field("All", every), boxes.map(([name, control]) => field(name, control))),
  ];
  const { box } = formDialog("New webhook", "Create", content, async () => {
    const events = every.checked ? ["*"] : boxes.filter(([, control]) => control.checked).map(([name]) => name);
    const webhook = await creations.post("/v1/webhooks", { url: url.value.trim(), events, session: session.value || null, description: description.value.trim() || null });
    box.close();
    known.set(webhook.id, webhook);
    location.hash = `webhooks/${webhook.id}`;
    if (webhook.secret) showSecret("The webhook's secret", webhook.secret);
  });
  url.focus();
};

const drawList = () => {
  keepingFocus(parts.list, () => parts.list.replaceChildren(...(known.size ? [...known.values()].map((one) => h("a.entry", { href: `#webhooks/${one.id}`, "aria-current": one.id === shownID ? "true" : null },
    h("strong", one.description || one.url), h("span", `${tones[one.state][1]} · ${one.waitingCount} waiting`))) : [h("p.quiet.none", "None yet.")])));
};

const take = (webhook) => {
  known.set(webhook.id, webhook);
  drawList();
  if (shownID === webhook.id) keepingFocus(parts.pane, () => drawOne(webhook));
};

const test = async (webhook) => {
  say("Posting webhook.test…");
  await failing(async () => {
    const result = await post(`/v1/webhooks/${webhook.id}/test`);
    const good = result.status >= 200 && result.status < 300;
    say(result.error ? `No answer: ${result.error}` : `The receiver answered ${result.status} in ${span(result.duration * 1000)}${result.body ? `: ${result.body.slice(0, 120)}` : ""}`, { tone: good ? "" : "bad" });
  });
};

const drawOne = (webhook) => {
  const path = `/v1/webhooks/${webhook.id}`;
  const [tone, words] = tones[webhook.state];
  const deliveries = h("div");
  const state = select([["", "All"], ["pending", "Waiting"], ["failed", "Given up"], ["delivered", "Delivered"]], "", { "aria-label": "Which deliveries", onchange: () => loadDeliveries() });
  const loadDeliveries = () => fill(deliveries, async () => {
    const { deliveries: list } = await get(`${path}/deliveries?limit=100${state.value ? `&state=${state.value}` : ""}`);
    deliveries.replaceChildren(list.length === 0 ? h("p.quiet", "Nothing was sent yet.") : h("table.list.stack",
      h("thead", h("tr", ["Event", "What became of it", "Last try", ""].map((one) => h("th", one)))),
      h("tbody", list.map((one) => {
        const last = one.attempts.at(-1);
        return h("tr", h("td", h("strong", one.type), h("div.quiet", one.event)),
          h("td", h(`span.tag.${deliveryTones[one.state]}`, one.state), h("div.quiet", `${count(one.attemptCount, "try", "tries")}${one.nextAttemptAt ? `, next ${fullTime(one.nextAttemptAt)}` : ""}`)),
          h("td", last ? `${last.status ?? last.error} · ${span(last.duration * 1000)}` : "–", last && h("div.quiet", fullTime(last.at))),
          h("td", button("", "retry", "Send again", { "aria-label": `Send ${one.type} ${one.event} again`, onclick: () => failing(async () => { await post(`${path}/deliveries/${encodeURIComponent(one.event)}/retry`); setTimeout(loadDeliveries, 800); }, "On its way.") })));
      }))));
  });
  parts.pane.replaceChildren(
    h("a.button.back", { href: "#webhooks" }, "All webhooks"),
    h("h2", { tabindex: "-1" }, webhook.description || webhook.url), h("p.quiet.url", webhook.url),
    h("p", h(`span.tag.${tone}`, words), webhook.disabledReason && ` ${reasons[webhook.disabledReason]}`, h("span.quiet", ` ${webhook.waitingCount} waiting · made ${fullTime(webhook.createdAt)}`)),
    h("div.acts-line", button("", "play", "Test", { onclick: () => test(webhook) }),
      webhook.state === "active" ? button("", "pause", "Pause", { onclick: () => failing(async () => take(await patch(path, { state: "paused" }))) })
        : button("primary", "play", "Activate", { onclick: () => failing(async () => take(await patch(path, { state: "active" }))) }),
      button("", "key", "New secret", { onclick: async () => { if (await confirm("Give it a new secret?", "The old one signs along for 24 hours.", "New secret")) failing(async () => showSecret("The new secret", (await post(`${path}/rotate-secret`)).secret)); } }),
      button("", "retry", "Send everything again", { onclick: async () => { if (await confirm("Send everything again?", "Every event that is still kept is posted, also what was delivered.", "Send")) failing(async () => take(await post(`${path}/replay`, { after: replayStart(webhook) })), "It has begun."); } }),
      button("danger", "trash", "Delete", { onclick: async () => { if (await confirm("Delete the webhook?", "What waits for it is not sent.", "Delete")) failing(async () => { await remove(path); known.delete(webhook.id); location.hash = "webhooks"; }, "Deleted."); } })),
    h("section", h("h3", "Events"), h("p", webhook.events.includes("*") ? "All" : webhook.events.join(", ")),
      h("p.quiet", webhook.session ? `Of ${sessionName(sessions.get(webhook.session)) || webhook.session}` : "Of all sessions")),
    h("section", h("div.acts-line", h("h3", "Deliveries"), state, button("", "retry", "Refresh", { onclick: loadDeliveries })), deliveries));
  loadDeliveries();
};

/** Before the first event of its stream: the tenant's, or that of its session. */
const replayStart = (webhook) => `${webhook.lastEvent.slice(0, webhook.lastEvent.lastIndexOf("."))}.0`;

export const show = async (section, id = null) => {
  if (!parts) {
    parts = { list: h("div"), pane: h("div.pane") };
    parts.split = h("div.split", h("div.side", h("div.page-head", h("h1", "Webhooks"), button("", "add", "New webhook", { onclick: create })), parts.list), parts.pane);
    section.append(parts.split);
  }
  const before = shownID;
  const takesFocus = before !== id && isChosenIn(parts.split);
  shownID = id;
  const list = await all("/v1/webhooks?limit=500", "webhooks", 1000);
  // Another one may have been chosen meanwhile.
  if (shownID !== id) return;
  known.clear();
  for (const one of list) known.set(one.id, one);
  drawList();
  parts.split.classList.toggle("with-one", known.has(id));
  drawPane(id);
  if (takesFocus) goOn(parts.split, { isOpen: known.has(id), before: `#webhooks/${before}` });
};

const drawPane = (id) => {
  if (known.has(id)) { drawOne(known.get(id)); return; }
  parts.pane.replaceChildren(h("div.note", icon("hook", "large"), h("h2", "Be told by a call"),
    h("p", "Ferry posts events to an address of yours, signed, at least once each, and over restarts: no program has to listen."),
    button("primary", "add", "New webhook", { onclick: create })));
};
