// The tenants that there are, and what each of them uses. For administrators.

import { all, call, each, get, post } from "./api.js";
import { learnRights } from "./rights.js";

const known = new Map();
const usages = new Map();
/** Why the figures of some could not be had. */
const faults = new Map();

export const tenants = {
  /** In the order of their creation, the operator's own first. */
  all: () => [...known.values()],
  get: (name) => known.get(name),
  usage: (name) => usages.get(name),
  fault: (name) => faults.get(name),
  deleting: () => tenants.all().filter(({ state }) => state === "deleting").map(({ name }) => name),
};

/** The operator's own: it cannot be deleted, and only its tokens manage the gateway. */
export const own = "default";

const pathOf = (name) => `/v1/tenants/${encodeURIComponent(name)}`;

export const loadTenants = async () => {
  const list = await all("/v1/tenants?limit=500", "tenants");
  known.clear();
  for (const tenant of list) known.set(tenant.name, tenant);
};

export const createTenant = async (spec) => {
  const tenant = await post("/v1/tenants", spec);
  known.set(tenant.name, tenant);
  return tenant;
};

/** Changes one, reads it anew (GET), or begins to delete it: what the gateway says of it then is known. */
export const askFor = async (method, name, body) => {
  const tenant = await call(method, pathOf(name), { body });
  known.set(name, tenant);
  return tenant;
};

/**
 * Learns what these tenants use, a few at a time. Gives the names of those that are gone. Where it does not work, the
 * figures from before stay, with the fault.
 */
export const refreshUsages = async (names) => {
  const gone = [];
  await each(names, async (name) => {
    try {
      usages.set(name, await loadUsage(name));
      faults.delete(name);
    } catch (error) {
      // Another tab may have signed in with a token that may not look.
      if (error.status === 403) learnRights();
      if (error.status !== 404) faults.set(name, error.message);
      else if (known.delete(name)) { usages.delete(name); gone.push(name); }
    }
  });
  return gone;
};

/** What one uses of its quotas. */
export const loadUsage = (name) => get(`/v1/usage?tenant=${encodeURIComponent(name)}`);

export const forgetTenants = () => { for (const one of [known, usages, faults]) one.clear(); };
