// A tenant that is to be made, or changed.

import { h, say } from "./dom.js";
import { area, field, formDialog, group, input, reading, select, valueOf } from "./form.js";
import { quotas, readLimit, writeLimit } from "./quotas.js";
import { askFor, createTenant } from "./tenants.js";
import { partsOfSpan, spanUnits } from "./spans.js";

const everywhere = { allowedHosts: null, deniedHosts: [], allowedAddresses: null, deniedAddresses: [] };

const linesOf = (control) => control.value.split("\n").map((line) => line.trim()).filter(Boolean);
const isSame = (one, other) => JSON.stringify(one) === JSON.stringify(other);

/** Fields for what is permitted and what is not; `read()` gives both lists. */
const places = (what, egress, allowed, denied, example, help) => {
  const which = select([["all", "All"], ["only", "Only these"]], egress[allowed] ? "only" : "all");
  const inside = area({ rows: 3, placeholder: example, value: (egress[allowed] ?? []).join("\n") });
  const outside = area({ rows: 3, placeholder: "none", value: egress[denied].join("\n") });
  const only = field(`Only these ${what}`, inside, { pointer: `/egress/${allowed}`, help: `${help} An empty field lets it go nowhere.` });
  const show = () => { only.hidden = which.value === "all"; };
  which.addEventListener("change", show);
  show();
  return {
    fields: [field(`Permitted ${what}`, which), only, field(`Forbidden ${what}`, outside, { pointer: `/egress/${denied}`, help })],
    read: () => ({ [allowed]: which.value === "all" ? null : linesOf(inside), [denied]: linesOf(outside) }),
  };
};

/** Opens the form for a new tenant, or for one as it is; `done(tenant)` is called with what has come of it. */
export const openTenantForm = (tenant, done) => {
  const before = {
    description: tenant?.description ?? null, egress: tenant?.egress ?? everywhere, taskRetention: tenant?.taskRetention ?? null,
    quotas: tenant?.quotas ?? Object.fromEntries(Object.entries(quotas).map(([key, { usual }]) => [key, usual])),
  };
  const name = input({ maxlength: 63, placeholder: "team-a", autocapitalize: "none" });
  const description = input({ value: before.description ?? "", maxlength: 1024 });
  const limits = Object.entries(quotas).map(([key, { label, help }]) => [key, input({ value: writeLimit(key, before.quotas[key]), placeholder: "no limit" }), label, help]);
  const hosts = places("hosts", before.egress, "allowedHosts", "deniedHosts", "*.example.com", "One a line; *.example.com is all below it.");
  const addresses = places("addresses", before.egress, "allowedAddresses", "deniedAddresses", "203.0.113.0/24:443",
    "One a line: an address or a block, perhaps with a port.");
  const [length, unit] = partsOfSpan(before.taskRetention);
  const kept = input({ type: "number", min: 1, value: length, placeholder: "as long as the gateway does" });
  const keptUnit = select(Object.keys(spanUnits), unit);
  const content = [
    h("div.fields", !tenant && field("Name", name, { pointer: "/name", help: "Lower-case letters, digits, “-”, “_” and “.”; it never changes." }),
      field("Description", description, { pointer: "/description", wide: true })),
    group("Quotas", ...limits.map(([key, control, label, help]) => field(label, control, { pointer: `/quotas/${key}`, help }))),
    group("Results", field("Keep them for", kept, { pointer: "/taskRetention", help: "It shortens only: nothing is kept longer than by the gateway." }), field("Unit", keptUnit)),
    h("details.options", { open: !isSame(before.egress, everywhere) }, h("summary", "Where its transfers may go"),
      h("p.quiet", "What the gateway itself does not permit stays forbidden. Both the host and the address have to be permitted."),
      h("div.fields.two-columns", h("div.column", hosts.fields), h("div.column", addresses.fields))),
  ];

  /** What is not as before; a gateway's own rules fill in what a new tenant is not told. */
  const changes = () => {
    const made = {};
    const words = description.value.trim() || null;
    if (words !== before.description) made.description = words;
    const changed = limits.map(([key, control]) => [key, reading(`/quotas/${key}`, () => readLimit(key, valueOf(control, `/quotas/${key}`)))])
      .filter(([key, limit]) => limit !== before.quotas[key]);
    if (changed.length) made.quotas = Object.fromEntries(changed);
    const egress = { ...hosts.read(), ...addresses.read() };
    // In the gateway's order, or else the same would not look the same.
    const ordered = Object.fromEntries(Object.keys(everywhere).map((key) => [key, egress[key]]));
    if (!isSame(ordered, { ...everywhere, ...before.egress })) made.egress = ordered;
    const text = valueOf(kept, "/taskRetention");
    const seconds = text ? Number(text) * spanUnits[keptUnit.value] : null;
    if (seconds !== before.taskRetention) made.taskRetention = seconds;
    return made;
  };
  formDialog(tenant ? `Change ${tenant.name}` : "New tenant", tenant ? "Save" : "Create", content, async () => {
    const made = changes();
    if (!tenant) done(await createTenant({ name: name.value.trim(), ...made }));
    else {
      if (Object.keys(made).length) done(await askFor("PATCH", tenant.name, made));
      say("Saved.");
    }
  }, { wide: true });
  (tenant ? description : name).focus();
};
