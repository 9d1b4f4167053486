// All tasks that the page knows: loaded newest first, then kept by events.

import { get, each } from "./api.js";
import { isConnected, onEvents, onState } from "./live.js";
import { Row, fields } from "./rows.js";
import { speak } from "./dom.js";
import { count } from "./format.js";
import { sample } from "./rates.js";
import { noteEnds } from "./notes.js";

/** More is not loaded by itself; a search still finds it. */
const limit = 100_000;
const pageSize = 500;
/** No event tells of tasks whose time is over: after so long the list is compared with the gateway's. */
const compareInterval = 180_000;

const rows = new Map();
const listeners = new Set();
const watchers = new Set();
const wanted = new Set();
let wantedTimer = null;
let loading = null;
let comparedAt = performance.now();
/** Counts the events that rows have had. */
let heard = 0;
/** Tasks that are gone: an answer that was on its way brings none of them back. */
const gone = new Set();
/** Tasks of whose end events have told before anything else was known of them. */
const endedUnseen = new Set();
let ended = { done: 0, failed: 0, cancelled: 0 };
let spokenTimer = null;

export const tasks = {
  /** Counted up when a task comes, goes or changes its state. */
  version: 0,
  state: "loading",
  error: null,
  isWhole: false,
  all: () => rows.values(),
  row: (id) => rows.get(id),
  get count() { return rows.size; },
  /** Called when anything has changed that the list shows. */
  onChange: (listener) => listeners.add(listener),
  /** Called with each event, after the row has it. */
  onEvent: (watcher) => { watchers.add(watcher); return () => watchers.delete(watcher); },
};

const changed = () => { for (const listener of listeners) listener(); };
const restructured = () => { tasks.version += 1; changed(); };

/** Shows what the gateway has answered. Whatever was told after it was asked, at `since`, is newer: then it is asked again. */
const merge = (task, since) => {
  if (gone.has(task.id)) return;
  const row = rows.get(task.id);
  if (row && row.heardAt > since) { refresh(task.id); return; }
  if (row) row.merge(task);
  else rows.set(task.id, new Row(task));
  // A list may be older than the end that was heard of.
  if (task.state === "completed" && endedUnseen.delete(task.id)) noteEnd(rows.get(task.id));
};

/** Makes a call whose answer is a task, or holds those that `pick` finds; the list then shows them too. */
export const taking = async (ask, pick = (task) => [task]) => {
  const since = heard;
  const answer = await ask();
  for (const task of pick(answer)) merge(task, since);
  restructured();
  return answer;
};

/** Takes out of the list what there is not any more. */
export const drop = (id) => {
  wanted.delete(id);
  endedUnseen.delete(id);
  gone.add(id);
  if (rows.delete(id)) restructured();
};

/** Loads the whole list anew; what is shown meanwhile stays. */
export const load = () => {
  const mine = loading = {};
  const isMine = () => loading === mine;
  return loadPages(isMine).catch((error) => {
    if (!isMine()) return;
    tasks.state = "failed";
    tasks.error = error;
    changed();
  }).finally(() => { if (isMine()) loading = null; });
};

const loadPages = async (isMine) => {
  const seen = new Set();
  const before = new Set(rows.keys());
  const takePage = (page, since) => {
    for (const task of page.tasks) {
      seen.add(task.id);
      merge(task, since);
    }
    tasks.state = "ready";
    tasks.error = null;
    restructured();
  };
  let isWhole = true;
  // What is under way stands on the first page, wherever it is in the order.
  for (const state of ["suspended,running,canceling", "completed"]) {
    let cursor = null;
    do {
      const more = cursor ? `&cursor=${encodeURIComponent(cursor)}` : "";
      const size = seen.size === 0 ? 100 : pageSize;
      const since = heard;
      const page = await get(`/v1/tasks?state=${state}&order=-createdAt&limit=${size}&fields=${fields}${more}`);
      if (!isMine()) return;
      takePage(page, since);
      cursor = page.nextCursor;
    } while (cursor && seen.size < limit);
    isWhole &&= !cursor;
  }
  tasks.isWhole = isWhole;
  comparedAt = performance.now();
  if (tasks.isWhole) for (const id of before) if (!seen.has(id) && !wanted.has(id)) rows.delete(id);
  restructured();
};

/**
 * Compares the list with the gateway's, by no more than names and states: drops what there is not any more, and asks for
 * what is otherwise than events have told.
 */
const compare = async () => {
  comparedAt = performance.now();
  const others = [];
  const unseen = new Map([...rows].filter(([id]) => !wanted.has(id)));
  let count = 0;
  let cursor = null;
  let oldest = "";
  do {
    const more = cursor ? `&cursor=${encodeURIComponent(cursor)}` : "";
    const page = await get(`/v1/tasks?state=all&order=-createdAt&limit=${pageSize}&fields=id,state,createdAt${more}`);
    for (const { id, state, createdAt } of page.tasks) {
      unseen.delete(id);
      oldest = createdAt;
      if (rows.get(id)?.state !== state) others.push(id);
    }
    count += page.tasks.length;
    cursor = page.nextCursor;
  } while (cursor && count < limit);
  if (others.length > pageSize) { load(); return; }
  for (const id of others) refresh(id);
  // Of what is older than the last one nothing was said.
  for (const [id, row] of unseen) if (!cursor || row.createdAt > oldest) rows.delete(id);
  restructured();
};

/** A comparison that fails is made at the next occasion. */
const compareSoon = () => compare().catch(() => { comparedAt = -Infinity; });

setInterval(() => {
  if (!document.hidden && isConnected() && !loading && performance.now() - comparedAt > compareInterval) compareSoon();
}, 5000);

/** Asks the gateway for what a search means, where not everything is loaded. */
export const search = async (text) => {
  if (tasks.isWhole || !text) return;
  const page = await get(
    `/v1/tasks?state=all&order=-createdAt&limit=${pageSize}&fields=${fields}&q=${encodeURIComponent(text)}`);
  for (const task of page.tasks) if (!rows.has(task.id)) merge(task, heard);
  restructured();
};

/** Asks for a task as it is now, soon and together with others. */
export const refresh = (id) => {
  wanted.add(id);
  refreshIn(150);
};

const refreshIn = (milliseconds) => {
  wantedTimer ??= setTimeout(async () => {
    const ids = [...wanted];
    let isAnswered = true;
    try { await (ids.length > 8 ? loadNewest(ids) : each(ids, loadOne)); } catch { isAnswered = false; }
    wantedTimer = null;
    // What came to be wanted meanwhile; a gateway that does not answer is given time.
    if (wanted.size) refreshIn(isAnswered ? 150 : 2000);
  }, milliseconds);
};

const loadOne = async (id) => {
  wanted.delete(id);
  try {
    await taking(() => get(`/v1/tasks/${id}`));
  } catch (error) {
    if (error.status === 404) { drop(id); return; }
    if (error.status === 0 || error.status >= 500) { wanted.add(id); throw error; }
  }
};

/** Many tasks that were just created come faster by pages; whoever is not on them is asked for alone. */
const loadNewest = async (ids) => {
  const since = heard;
  const page = await get(`/v1/tasks?state=all&order=-createdAt&limit=${pageSize}&fields=${fields}`);
  for (const task of page.tasks) {
    wanted.delete(task.id);
    merge(task, since);
  }
  restructured();
  await each(ids.filter((id) => wanted.has(id)), loadOne);
};

// MARK: events

const waitOf = { bodyStream: "bodyStream" };

const apply = ({ name, data }) => {
  if (name === "task.didDelete") { drop(data.task); return; }
  if (gone.has(data.task)) return;
  if (name === "task.didCreate") { refresh(data.task); return; }
  const row = rows.get(data.task);
  if (!row) {
    if (name === "task.didComplete") endedUnseen.add(data.task);
    refresh(data.task);
    return;
  }
  row.heardAt = ++heard;
  if (data.response && name === "task.didReceiveResponse") row.respond(data.response);
  if (data.decision) row.change({ waitingFor: waitOf[data.decision.kind] ?? "decision" });
  switch (name) {
    case "task.didChange": row.change(data.changes); break;
    case "task.willRetry":
      row.change({ waitingFor: "retry", nextAttemptAt: new Date(Date.parse(data.at) + data.delay * 1000).toISOString() });
      break;
    case "task.isWaitingForConnectivity": row.change({ waitingFor: "connectivity" }); break;
    // Of an inline session, whose data is numbered.
    case "task.didReceiveData": sample(row, row.progress(name, data, performance.now())); break;
    case "task.didBecomeDownloadTask": row.complete(null, data.at); break;
    case "task.didComplete": row.complete(data.error, data.at); noteEnd(row); break;
    default: break;
  }
};

/** Ends are spoken together, so that a thousand of them take one sentence. */
const noteEnd = (row) => {
  ended[row.group] += 1;
  ended.row = row;
  spokenTimer ??= setTimeout(() => {
    spokenTimer = null;
    const { done, failed, cancelled, row: { name } } = ended;
    noteEnds(ended);
    ended = { done: 0, failed: 0, cancelled: 0 };
    if (done + failed + cancelled === 1) speak(`${name} ${done ? "is done" : failed ? "has failed" : "was cancelled"}.`);
    else speak(`${count(done, "transfer")} done, ${failed} failed${cancelled ? `, ${cancelled} cancelled` : ""}.`);
  }, 1000);
};

onEvents(({ events, progress }) => {
  const now = performance.now();
  for (const { name, data } of progress) {
    const row = rows.get(data.task);
    if (row) sample(row, row.progress(name, data, now));
    else if (!gone.has(data.task)) refresh(data.task);
  }
  for (const event of events) {
    if (event.name === "reset") { load(); continue; }
    if (event.data.task) apply(event);
  }
  if (events.length) tasks.version += 1;
  for (const watcher of watchers) for (const event of events) watcher(event);
  if (events.length || progress.length) changed();
});

onState(({ kind, fresh }) => {
  if (kind !== "open") return;
  // A gateway that was started anew has forgotten what was in its memory only, without an event.
  if (fresh || loading || tasks.state !== "ready") load();
  else compareSoon();
});
