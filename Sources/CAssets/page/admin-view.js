// Administration: tenants with their quotas, and tokens. Only for tokens that may manage the gateway.

import { button, confirm, h, icon, say, write } from "./dom.js";
import { count, fullTime, size } from "./format.js";
import { goOn, isChosenIn } from "./focus.js";
import { input } from "./form.js";
import { fullest, usageList } from "./quotas.js";
import { rights } from "./rights.js";
import { spanWords } from "./spans.js";
import { openTenantForm } from "./tenant-form.js";
import { askFor, forgetTenants, loadTenants, loadUsage, own, refreshUsages, tenants } from "./tenants.js";
import { countTokens, openTokenForm, tokenList } from "./tokens.js";

const atOnce = 100;
const refreshInterval = 5000;
/** A place for the tokens of all: no tenant's name begins like that. */
const allTokens = "_tokens";

let parts = null;
let shownID = null;
let shown = atOnce;
/** What can be drawn anew of the one in sight: its figures. */
let pane = null;
const entries = new Map();
const inSight = new Set();
let sinceRefresh = 0;
let isRefreshing = false;

// MARK: the list

const sight = new IntersectionObserver((changes) => {
  const come = [];
  for (const { target, isIntersecting } of changes) {
    const { tenant } = target.dataset;
    if (!isIntersecting) inSight.delete(tenant);
    else { inSight.add(tenant); if (!tenants.usage(tenant)) come.push(tenant); }
  }
  refresh(come);
});

/** Marks the entry of what is in sight. */
const mark = (element, id) => {
  if (id === shownID) element.setAttribute("aria-current", "true");
  else element.removeAttribute("aria-current");
};

const drawEntry = (name) => {
  const { element, words, meter } = entries.get(name);
  const tenant = tenants.get(name);
  const usage = tenants.usage(name);
  const most = usage && fullest(usage);
  mark(element, name);
  const state = tenant.state === "deleting" ? "Being deleted" : most ? most.words : usage ? "No quotas" : tenants.fault(name) ? "Unknown" : "…";
  write(words, [state, tenant.description].filter(Boolean).join(" · "));
  meter.className = `meter${most ? most.tone.replace(".", " ") : ""}`;
  meter.replaceChildren(...(most ? [most.drawing] : []));
};

const entryOf = (name) => {
  if (!entries.has(name)) {
    const words = h("span"), meter = h("div.meter", { "aria-hidden": "true" });
    entries.set(name, { element: h("a.entry", { href: `#admin/${name}`, "data-tenant": name }, h("strong", name), words, meter), words, meter });
  }
  drawEntry(name);
  return entries.get(name).element;
};

const drawList = () => {
  const text = parts.search.value.trim().toLowerCase();
  const found = tenants.all().filter(({ name, description }) => [name, description].some((one) => one?.toLowerCase().includes(text)));
  const rest = found.length - shown;
  sight.disconnect();
  inSight.clear();
  for (const name of entries.keys()) if (!tenants.get(name)) entries.delete(name);
  const drawn = found.slice(0, shown).map(({ name }) => entryOf(name));
  mark(parts.tokens, allTokens);
  parts.list.replaceChildren(...drawn, ...(found.length ? [] : [h("p.quiet.none", "No tenant is like that.")]),
    ...(rest > 0 ? [h("div.acts-line.more", button("", null, `Show ${Math.min(rest, atOnce)} more of ${rest}`, { onclick: () => showMore(drawn.length) }))] : []));
  for (const element of drawn) sight.observe(element);
};

const showMore = (from) => {
  shown += atOnce;
  drawList();
  parts.list.querySelectorAll("a.entry")[from]?.focus();
};

/** Learns what these tenants use, and draws it. */
const refresh = async (names) => {
  if (!names.length) return;
  const gone = await refreshUsages(names);
  if (!parts) return;
  for (const name of gone) say(`The tenant ${name} is gone.`);
  if (gone.length) drawList();
  if (gone.includes(shownID)) { location.hash = "admin"; return; }
  for (const name of names) if (tenants.get(name) && entries.has(name)) drawEntry(name);
  if (names.includes(shownID)) pane?.drawUsage();
};

/** Every second for those that are being deleted, else at leisure: of what is in sight, while somebody looks. */
const tick = async () => {
  if (!parts || parts.section.hidden || document.hidden || isRefreshing) return;
  sinceRefresh += 1000;
  const names = new Set(tenants.deleting());
  if (sinceRefresh >= refreshInterval) {
    sinceRefresh = 0;
    for (const name of inSight) names.add(name);
    if (tenants.get(shownID)) names.add(shownID);
  }
  isRefreshing = true;
  try { await refresh([...names]); } finally { isRefreshing = false; }
};

// MARK: one tenant

const createTenant = () => openTenantForm(null, (tenant) => {
  say(`The tenant ${tenant.name} is there. It needs a token.`);
  location.hash = `admin/${tenant.name}`;
});

const change = async (name) => {
  try {
    openTenantForm(await askFor("GET", name), (tenant) => { if (shownID === name) drawTenant(tenant); drawList(); refresh([name]); });
  } catch (error) { fail(name, error); }
};

/** Says what did not work; a tenant that somebody else was quicker to delete leaves the list, and that is said. */
const fail = (name, error) => {
  if (error.status === 404) refresh([name]);
  else say(error.message, { tone: "bad" });
};

/** What goes with a tenant, in words; empty where nothing does. */
const belongings = async (name) => {
  const [{ quotas }, tokens] = await Promise.all([loadUsage(name), countTokens(name)]);
  const some = (key, one) => (quotas[key].used ? count(quotas[key].used, one) : null);
  const stored = quotas.storedBytes.used ? `${size(quotas.storedBytes.used)} of results and files` : null;
  return [some("sessions", "session"), some("outstandingTasks", "unfinished transfer"), stored, some("webhooks", "webhook"), tokens === "0 tokens" ? null : tokens].filter(Boolean);
};

const end = async ({ name }) => {
  try {
    const list = await belongings(name);
    const words = ["Its tokens are refused at once, its transfers are cancelled, and all that it has is deleted for good",
      list.length ? `: now ${list.join(", ")}, and all that is known of completed transfers. ` : ". ", "Files that were saved in a folder of the gateway's machine stay."].join("");
    if (!await confirm(`Delete the tenant ${name}?`, words, "Delete all of it")) return;
    const tenant = await askFor("DELETE", name);
    if (shownID === name) drawTenant(tenant);
    drawList();
  } catch (error) { fail(name, error); }
};

const egressFacts = ({ allowedHosts, deniedHosts, allowedAddresses, deniedAddresses }) => {
  const listed = (list) => (list === null ? "all" : list.length ? list.join(", ") : "none");
  return [["Hosts", listed(allowedHosts)], ...(deniedHosts.length ? [["But not", listed(deniedHosts)]] : []),
    ["Addresses", listed(allowedAddresses)], ...(deniedAddresses.length ? [["But not", listed(deniedAddresses)]] : [])];
};

const drawTenant = (tenant) => {
  const { name } = tenant;
  const isDeleting = tenant.state === "deleting";
  const usage = h("div", h("p.quiet", "Loading…"));
  const tokens = tokenList(name);
  pane = {
    drawUsage: () => {
      const known = tenants.usage(name);
      const fault = tenants.fault(name);
      if (known || fault) usage.replaceChildren(...[fault && h("p.fault", `What it uses now is not known: ${fault}`), known && usageList(known)].filter(Boolean));
    },
  };
  parts.pane.replaceChildren(...[
    h("a.button.back", { href: "#admin" }, "All tenants"),
    h("h2", { tabindex: "-1" }, name),
    h("p", isDeleting ? h("span.tag.warn", "Being deleted") : h("span.tag.good", "Active"), " ",
      h("span.quiet", name === own ? "the operator's own" : `made ${fullTime(tenant.createdAt)}`)),
    tenant.description && h("p.about", tenant.description),
    isDeleting ? h("p.quiet", "It goes by itself, also over a restart; then its name is free again.")
      : h("div.acts-line", button("", null, "Change", { onclick: () => change(name) }), button("", "key", "New token", { onclick: () => openTokenForm(name, tokens.show) }),
        name !== own && button("danger", "trash", "Delete", { onclick: () => end(tenant) })),
    h("section", h("h3", "What it uses"), usage),
    h("section", h("h3", "Where its transfers may go"), h("dl.facts", egressFacts(tenant.egress).map(([term, words]) => [h("dt", term), h("dd", words)])),
      h("p.help", "Of what the gateway itself permits.")),
    h("section", h("h3", "Results"), h("p", tenant.taskRetention === null ? "Are kept as long as the gateway keeps them." : `Are kept for ${spanWords(tenant.taskRetention)}, if the gateway keeps them so long.`)),
    !isDeleting && h("section", h("h3", "Tokens"), tokens.element),
  ].filter(Boolean));
  pane.drawUsage();
  if (!isDeleting) tokens.show();
};

// MARK: tokens of all

const drawTokens = () => {
  const tokens = tokenList();
  pane = null;
  parts.pane.replaceChildren(
    h("a.button.back", { href: "#admin" }, "All tenants"),
    h("h2", { tabindex: "-1" }, "Tokens"),
    h("p.quiet", "The newest first. Those in the gateway's files, such as the first one, are not among them."),
    h("div.acts-line", button("", "key", "New token", { onclick: () => openTokenForm(own, tokens.show) })),
    h("section", tokens.element));
  tokens.show();
};

// MARK: the view

const style = () => new Promise((resolve, reject) => {
  const link = h("link", { rel: "stylesheet", href: "/page/admin.css", onload: resolve, onerror: () => { link.remove(); styled = null; reject(new Error("the style sheet did not come.")); } });
  document.head.append(link);
});
let styled = null;

const build = (section) => {
  parts = { section, list: h("div", h("p.quiet.none", "Loading…")), pane: h("div.pane"),
    search: input({ type: "search", placeholder: "Search", "aria-label": "Search tenants by name or description", oninput: () => { shown = atOnce; drawList(); } }),
    tokens: h("a.entry", { href: `#admin/${allTokens}` }, h("strong", "Tokens"), h("span", "Of all tenants")) };
  parts.split = h("div.split", h("div.side", h("div.page-head", h("h1", "Administration"), button("", "add", "New tenant", { onclick: createTenant }), parts.search), parts.tokens, parts.list), parts.pane);
  section.replaceChildren(parts.split);
};

rights.onChange(() => {
  if (rights.mayManage || !parts) return;
  // Whoever signs in instead sees nothing of it.
  parts.section.replaceChildren();
  parts = pane = null;
  entries.clear();
  forgetTenants();
});
setInterval(tick, 1000);

const note = () => h("div.note", icon("people", "large"), h("h2", "A tenant is who uses the gateway"),
  h("p", "Its sessions, transfers and files are seen by its own tokens only, and quotas keep it from using up what others need."),
  button("primary", "add", "New tenant", { onclick: createTenant }));

export const show = async (section, id = null) => {
  await (styled ??= style());
  if (!parts) build(section);
  const takesFocus = shownID !== id && isChosenIn(parts.split);
  const before = shownID;
  shownID = id;
  if (tenants.get(before)) drawList();
  await loadTenants();
  // Another one may have been chosen meanwhile, or another token.
  if (!parts || shownID !== id) return;
  drawList();
  drawPane(id);
  if (takesFocus) goOn(parts.split, { isOpen: Boolean(id), before: `#admin/${before}` });
};

const drawPane = (id) => {
  parts.split.classList.toggle("with-one", Boolean(id));
  pane = null;
  if (!id) { parts.pane.replaceChildren(note()); return; }
  if (id === allTokens) { drawTokens(); return; }
  const tenant = tenants.get(id);
  if (!tenant) {
    parts.pane.replaceChildren(h("a.button.back", { href: "#admin" }, "All tenants"), h("div.note", icon("alert", "large"), h("h2", { tabindex: "-1" }, "There is no such tenant"), h("p", "It was deleted, or never made.")));
    return;
  }
  drawTenant(tenant);
  refresh([id]);
};
