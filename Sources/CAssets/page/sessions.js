// The sessions that the page knows: for filters and forms, and kept by events.

import { all, get, isRefused } from "./api.js";
import { onEvents, onState } from "./live.js";

/** The newest of those that take part, and of those that are over: more do not help in a list to choose from. */
const limit = 2000;
const overLimit = 500;
const retryInterval = 3000;
let timer = null;
const known = new Map();
const listeners = new Set();
/** Sessions of events that were asked for already, whatever came of it. */
const asked = new Set();
/** The shared one first, then the newest. */
let ordered = [];

export const sessions = {
  all: () => ordered,
  get: (id) => known.get(id),
  /** Those that take new transfers. */
  active: () => ordered.filter((session) => session.state === "active"),
  onChange: (listener) => { listeners.add(listener); return () => listeners.delete(listener); },
};

export const sessionName = (session) => {
  if (!session) return "";
  if (session.type === "shared") return "Shared session";
  return session.description || session.identifier || session.id;
};

const changed = () => {
  ordered = [...known.values()].sort((a, b) => (a.type === "shared" ? -1 : b.type === "shared" ? 1 : a.createdAt < b.createdAt ? 1 : -1));
  for (const listener of listeners) listener();
};

export const takeSession = (session) => { known.set(session.id, session); changed(); };

export const loadSessions = async () => {
  const list = await all("/v1/sessions?order=-createdAt&limit=500", "sessions", limit);
  const over = await all("/v1/sessions?state=invalid&order=-createdAt&limit=500", "sessions", overLimit);
  // Among so many the shared one is the oldest.
  if (!list.some(({ type }) => type === "shared")) list.push(await get("/v1/sessions/shared"));
  known.clear();
  for (const session of [...over, ...list]) known.set(session.id, session);
  changed();
};

/** Loads until it works: forms and filters offer no other sessions than these. */
const loadForSure = () => {
  clearTimeout(timer);
  loadSessions().catch((error) => { if (!isRefused(error)) timer = setTimeout(loadForSure, retryInterval); });
};

/** One session as it is now. */
export const refreshSession = async (id) => {
  try {
    const session = await get(`/v1/sessions/${id}`);
    takeSession(session);
    return session;
  } catch (error) {
    if (error.status === 404 && known.delete(id)) changed();
    throw error;
  }
};

/** Asks for a session that an event has named; once, for what the token may not see it never will. */
const learn = (id) => {
  asked.add(id);
  refreshSession(id).catch((error) => { if (!isRefused(error)) asked.delete(id); });
};

onEvents(({ events }) => {
  for (const { name, data } of events) {
    // No event tells of a new session: its first task does.
    if (data.session && (name === "session.didBecomeInvalid" || !known.has(data.session) && !asked.has(data.session))) learn(data.session);
  }
});

/** Events tell neither of sessions that are forgotten, nor of those without a transfer. */
onState(({ kind }) => { if (kind === "open") loadForSure(); });
