// What transfers wait for a person to say.

import { all, get, isRefused, post } from "./api.js";
import { onEvents, onState } from "./live.js";
import { say } from "./dom.js";
import { tasks } from "./tasks.js";
import { nameOf } from "./format.js";
import { noteQuestion } from "./notes.js";

const pending = new Map();
const listeners = new Set();
const mine = new Set();
const retryInterval = 3000;
let timer = null;
let loadTimer = null;
let isLoaded = false;
/** Counts the events that may have ended questions. */
let heard = 0;

export const decisions = {
  all: () => [...pending.values()],
  get: (id) => pending.get(id),
  get count() { return pending.size; },
  onChange: (listener) => { listeners.add(listener); return () => listeners.delete(listener); },
};

/** What it is asked about, in a few words. */
export const taskName = (decision) => tasks.row(decision.task)?.name
  ?? nameOf(decision.event.response?.url ?? decision.event.request?.url ?? "") ?? decision.task;

export const question = (decision) => {
  const space = decision.event.challenge?.protectionSpace;
  switch (space ? space.authenticationMethod : decision.kind) {
    case "NSURLAuthenticationMethodServerTrust": return `Is this really ${space.host}?`;
    case "NSURLAuthenticationMethodClientCertificate": return `${space.host} wants a client certificate`;
    case "redirect": return "Follow the redirect?";
    case "response": return "What shall be done with the answer?";
    case "cache": return "Keep a copy in the cache?";
    case "delayedRequest": return "Its time has come. Go on?";
    default: return `${space?.isProxy ? "The proxy " : ""}${space?.host ?? "The server"} wants a password`;
  }
};

const changed = () => { for (const listener of listeners) listener(); };

/** A body is sent by the program that made the task; a person has nothing to say. */
const isForPeople = (decision) => decision.state === "pending" && decision.kind !== "bodyStream";

/** An answer that an event may have overtaken is checked: a question must not stay that nobody asks any more. */
const recheckSince = (since) => { if (heard !== since) for (const id of [...pending.keys()]) recheck(id); };

const load = async () => {
  const since = heard;
  const list = await all("/v1/decisions?state=pending", "decisions", 1000);
  isLoaded = true;
  pending.clear();
  for (const decision of list) if (isForPeople(decision)) pending.set(decision.id, decision);
  changed();
  recheckSince(since);
};

/** Loads until it works: a question that nobody sees is answered by its time. */
const loadForSure = () => {
  clearTimeout(loadTimer);
  load().catch((error) => { if (!isRefused(error)) loadTimer = setTimeout(loadForSure, retryInterval); });
};

/** What waits is known, or why it is not is thrown. */
export const ready = async () => { if (!isLoaded) await load(); };

const add = async (id) => {
  const since = heard;
  const decision = await get(`/v1/decisions/${id}`);
  if (!isForPeople(decision) || pending.has(id)) return;
  pending.set(id, decision);
  changed();
  noteQuestion(id, question(decision), taskName(decision));
  recheckSince(since);
};

const endings = {
  answered: "It was answered by somebody else.", expired: "Its time is over: the default was taken.",
  withdrawn: "The transfer does not ask any more.",
};

/** Looks whether it still waits; says so if it does not. */
export const recheck = async (id) => {
  const before = pending.get(id);
  if (!before) return;
  let state = "withdrawn";
  try {
    const decision = await get(`/v1/decisions/${id}`);
    state = decision.state;
    // It may have been answered here meanwhile.
    if (!pending.has(id)) return;
    if (isForPeople(decision)) {
      if (decision.deadline !== before.deadline) { pending.set(id, decision); changed(); }
      return;
    }
  } catch (error) { if (error.status !== 404) return; }
  if (!pending.delete(id)) return;
  if (!mine.delete(id)) say(`${question(before)} ${endings[state]}`);
  changed();
};

/** Answers; what another one was quicker with goes away, and says so. */
export const answer = async (decision, body) => {
  mine.add(decision.id);
  try {
    await post(`/v1/decisions/${decision.id}`, body);
    pending.delete(decision.id);
    changed();
  } catch (error) {
    mine.delete(decision.id);
    if (error.status !== 409 && error.status !== 410) throw error;
    pending.delete(decision.id);
    say(error.message);
    changed();
  }
};

onEvents(({ events }) => {
  for (const { name, data } of events) {
    if (data.decision) { add(data.decision.id).catch((error) => { if (!isRefused(error)) loadForSure(); }); continue; }
    if (!data.task || (name === "task.didChange" && data.changes.waitingFor === undefined && data.changes.state === undefined)) continue;
    heard += 1;
    for (const decision of pending.values()) {
      // One question may be that of several tasks of its session.
      if (decision.task === data.task || (decision.session === data.session && name === "task.didComplete")) recheck(decision.id);
    }
  }
});

onState(({ kind }) => { if (kind === "open") loadForSure(); });

/** Begins to show questions; `count` is called when their number has changed. */
export const start = (count) => {
  listeners.add(count);
  listeners.add(() => offer());
  setInterval(() => {
    for (const decision of pending.values()) if (Date.parse(decision.deadline) < Date.now() - 300) recheck(decision.id);
  }, 1000);
  offer();
};

const put = new Set();

/** Nothing that waits now is offered again by itself; it stays under Decisions. */
export const putAside = () => { for (const id of pending.keys()) put.add(id); };

/** Opens the question as a dialog, unless somebody types or answers another one. */
export const offer = () => {
  clearTimeout(timer);
  timer = setTimeout(async () => {
    const isBusy = document.querySelector("dialog[open]") || document.activeElement?.closest("input, textarea, select")
      || document.body.dataset.view === "decisions";
    const next = decisions.all().find((decision) => !put.has(decision.id));
    if (!next) return;
    if (isBusy) { timer = setTimeout(offer, 1000); return; }
    put.add(next.id);
    (await import("./decision-dialog.js")).ask(next);
  }, 150);
};
