// Tokens: who may call. They are listed, made and revoked; the token itself is seen once. For administrators.

import { button, confirm, fill, h, say } from "./dom.js";
import { all, isRefused, post, remove } from "./api.js";
import { field, formDialog, input, Invalid, select, valueOf } from "./form.js";
import { count, dateOnly } from "./format.js";
import { secretDialog } from "./secret.js";
import { own, tenants } from "./tenants.js";

const atOnce = 100;
const day = 86_400_000;

const scopes = {
  sessions: "Sessions", tasks: "Transfers", events: "Events", decisions: "Decisions", webhooks: "Webhooks",
  read: "Look at all of its tenant, change nothing", metrics: "Metrics of the gateway", admin: "Manage the gateway, tenants and tokens",
};
const ofGateway = ["metrics", "admin"];
const usual = ["sessions", "tasks", "events"];

const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });
const time = (instant) => (instant ? exact.format(new Date(instant)) : "never");
/** The same for a cell, to be broken behind the day only. */
const cell = (label, instant, mark) => h("td", { "data-label": label }, mark, instant ? [h("span.when", dateOnly(instant)), " ", h("span.when.quiet", clock.format(new Date(instant)))] : "never");

/** What a token is called in a heading. */
const nameOf = ({ id, description }) => (!description ? id : description.length > 80 ? `${description.slice(0, 80)}…` : description);

const isExpired = ({ expiresAt }) => expiresAt !== null && Date.parse(expiresAt) <= Date.now();

/** The tokens of a tenant, or of all where none is named; `show()` lists them as they are now. */
export const tokenList = (tenant) => {
  const place = h("div", h("p.quiet", "Loading…"));
  let list = [];
  let shown = atOnce;
  const search = input({ type: "search", placeholder: "Search", "aria-label": "Search tokens by description, tenant, scope or id", oninput: () => { shown = atOnce; draw(); } });
  const table = h("div.tokens");
  const columns = ["Token", !tenant && "Tenant", "May use", "Last used", "Ends", "Made", ""].filter((one) => one !== false);

  const row = (token) => h("tr",
    h("td", h("strong", token.description || "No description"), h("div.quiet", h("code", token.id))),
    !tenant && h("td", { "data-label": "Tenant" }, h("a", { href: `#admin/${token.tenant}` }, token.tenant)),
    h("td", { "data-label": "May use" }, token.scopes.join(", ")), cell("Last used", token.lastUsedAt),
    cell("Ends", token.expiresAt, isExpired(token) ? [h("span.tag.warn", "Expired"), " "] : null), cell("Made", token.createdAt),
    h("td", button("danger", null, "Revoke", { "aria-label": `Revoke ${token.description || token.id}`, onclick: () => revoke(token) })));

  const draw = () => {
    const text = search.value.trim().toLowerCase();
    const found = list.filter(({ id, tenant: name, description, scopes: may }) => [id, name, description, ...may].some((one) => one?.toLowerCase().includes(text)));
    if (!found.length) {
      table.replaceChildren(h("p.quiet", list.length ? "None is like that." : "There are none yet."));
      return;
    }
    const rest = found.length - shown;
    table.replaceChildren(
      h("table.list", h("thead", h("tr", columns.map((one) => h("th", { scope: "col" }, one)))), h("tbody", found.slice(0, shown).map(row))),
      ...(rest > 0 ? [h("div.acts-line", button("", null, `Show ${Math.min(rest, atOnce)} more of ${rest}`, { onclick: () => showMore(Math.min(shown, found.length)) }))] : []));
  };

  const showMore = (from) => {
    shown += atOnce;
    draw();
    table.querySelectorAll("tbody tr")[from]?.querySelector("button").focus();
  };

  const load = async () => {
    const found = await all(`/v1/tokens?limit=500${tenant ? `&tenant=${encodeURIComponent(tenant)}` : ""}`, "tokens");
    list = found.reverse();
    place.replaceChildren(...(list.length > 10 ? [search] : []), table);
    draw();
  };
  const show = () => fill(place, load);

  const revoke = async (token) => {
    const words = `It is ${token.id} of the tenant ${token.tenant}, last used: ${time(token.lastUsedAt)}. Whoever uses it is refused at once, browsers that signed in with it are signed out, and its event streams end. Its transfers go on.`;
    if (!await confirm(`Revoke “${nameOf(token)}”?`, words, "Revoke")) return;
    try {
      await remove(`/v1/tokens/${encodeURIComponent(token.id)}`);
      say("Revoked.");
    } catch (error) {
      if (error.status !== 404) { say(error.message, { tone: "bad" }); return; }
      say("It was revoked by somebody else.");
    }
    await show();
    // Its button is gone: the focus goes to what is next of it.
    (table.querySelector("button") ?? place.closest(".pane")?.querySelector("h2"))?.focus();
  };
  return { element: place, show };
};

const ends = [["", "Never"], ["1", "In a day"], ["7", "In 7 days"], ["30", "In 30 days"], ["90", "In 90 days"], ["365", "In a year"], ["at", "At a time of your choice"]];

/** Opens the form; `changed()` is called when there may be a new one. */
export const openTokenForm = (tenant, changed) => {
  const names = tenants.all().filter(({ state }) => state === "active").map(({ name }) => name);
  const whose = select(names, tenant ?? own);
  const description = input({ maxlength: 1024, placeholder: "nightly mirror" });
  const boxes = Object.entries(scopes).map(([key, label]) => [key, input({ type: "checkbox", checked: usual.includes(key) }), label]);
  const end = select(ends, "90");
  const at = input({ type: "datetime-local" });
  const moment = field("Time", at, { pointer: "/expiresAt" });
  const note = h("p.help", `Metrics and management are for tokens of the tenant ${own} only.`);
  const content = [
    h("div.fields", field("Tenant", whose, { pointer: "/tenant" }), field("Description", description, { pointer: "/description", help: "Where it is used." }), field("It ends", end), moment),
    h("fieldset", { "data-pointer": "/scopes" }, h("legend", "It may use"), h("span.fault", { role: "alert" }), h("div.fields.boxes", boxes.map(([, control, label]) => field(label, control))), note),
  ];
  const show = () => {
    for (const [key, control] of boxes) {
      control.disabled = ofGateway.includes(key) && whose.value !== own;
      if (control.disabled) control.checked = false;
    }
    note.hidden = whose.value === own;
    moment.hidden = end.value !== "at";
  };
  whose.addEventListener("change", show);
  end.addEventListener("change", show);
  show();

  const expiry = () => {
    if (!end.value) return null;
    if (end.value !== "at") return new Date(Date.now() + Number(end.value) * day).toISOString();
    const chosen = new Date(valueOf(at, "/expiresAt"));
    if (Number.isNaN(chosen.getTime())) throw new Invalid("/expiresAt", "Choose a day and a time.");
    return chosen.toISOString();
  };
  const { box } = formDialog("New token", "Create", content, async () => {
    const chosen = boxes.filter(([, control]) => control.checked).map(([key]) => key);
    if (!chosen.length) throw new Invalid("/scopes", "Choose at least one.");
    const spec = { tenant: whose.value, scopes: chosen, expiresAt: expiry(), description: description.value.trim() || null };
    let made;
    try { made = await post("/v1/tokens", spec); } catch (error) {
      // It cannot be asked for again: nobody is told of a token twice.
      if (!isRefused(error)) throw new Error(`${error.message} Perhaps there is a token now that nobody has: look for it in the list, and revoke it.`);
      throw error;
    } finally { changed(); }
    box.close();
    secretDialog("The new token", `This is shown only now: copy it to where it is needed. Whoever has it may use ${made.scopes.join(", ")} of the tenant ${made.tenant}${made.expiresAt ? `, until ${time(made.expiresAt)}` : ", until it is revoked"}.`, made.token);
  });
  description.focus();
};

/** How many tokens a tenant has, in words. */
export const countTokens = async (tenant) => count((await all(`/v1/tokens?limit=500&tenant=${encodeURIComponent(tenant)}`, "tokens")).length, "token");
