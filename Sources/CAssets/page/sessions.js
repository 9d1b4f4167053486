// The sessions that the page knows: for filters and forms, and kept by events.

import { all, get } from "./api.js";
import { onEvents, onState } from "./live.js";

const known = new Map();
const listeners = new Set();
let timer = null;

export const sessions = {
  all: () => known.values(),
  get: (id) => known.get(id),
  /** Those that take new transfers. */
  active: () => [...known.values()].filter((session) => session.state === "active"),
  onChange: (listener) => { listeners.add(listener); return () => listeners.delete(listener); },
};

export const sessionName = (session) => {
  if (!session) return "";
  if (session.id === "shared" || session.type === "shared") return "Shared session";
  return session.description || session.identifier || session.id;
};

const changed = () => { for (const listener of listeners) listener(); };

export const takeSession = (session) => { known.set(session.id, session); changed(); };

export const loadSessions = async () => {
  const list = await all("/v1/sessions?limit=500", "sessions", 2000);
  known.clear();
  // The shared one first, then the newest.
  list.sort((a, b) => (a.type === "shared" ? -1 : b.type === "shared" ? 1 : a.createdAt < b.createdAt ? 1 : -1));
  for (const session of list) known.set(session.id, session);
  changed();
};

const loadSoon = () => {
  timer ??= setTimeout(() => { timer = null; loadSessions().catch(() => {}); }, 500);
};

/** One session as it is now. */
export const refreshSession = async (id) => { const session = await get(`/v1/sessions/${id}`); takeSession(session); return session; };

onEvents(({ events }) => {
  for (const { name, data } of events) {
    // No event tells of a new session: its first task does.
    if (name === "session.didBecomeInvalid" || (data.session && !known.has(data.session))) { loadSoon(); return; }
  }
});
onState(({ kind, fresh }) => { if (kind === "open" && fresh) loadSessions().catch(() => {}); });
