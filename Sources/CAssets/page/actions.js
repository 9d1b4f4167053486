// What can be done with tasks, one or many.

import { call, Creations, each, patch, post, Refusal } from "./api.js";
import { confirm, say } from "./dom.js";
import { count } from "./format.js";
import { drop, refresh, taking, tasks } from "./tasks.js";

const past = { suspend: "suspended", resume: "resumed", cancel: "cancelled", delete: "deleted", retry: "started again" };
const atOnce = 500;
const creations = new Creations();

const fits = {
  suspend: (row) => row.state === "running",
  resume: (row) => row.state === "suspended",
  cancel: (row) => row.state === "running" || row.state === "suspended",
  delete: (row) => row.state === "completed",
  retry: (row) => row.state === "completed",
};

/** Those of the tasks that an action is for. */
export const fitting = (action, rows) => rows.filter(fits[action]);

/** Does it, and says what came of it. Asks first where much would be lost. Gives the tasks to which it was done. */
export const perform = async (action, rows) => {
  const done = [];
  const chosen = fitting(action, rows);
  if (!chosen.length || !await isMeant(action, chosen)) return done;
  const isOne = chosen.length === 1;
  try {
    if (isOne) {
      await performOne(action, chosen[0]);
      done.push(chosen[0].id);
    } else await performMany(action, chosen, done);
  } catch (error) {
    if (isOne && error.status === 404) isGone(chosen[0]);
    else say(`${isOne ? chosen[0].name : count(chosen.length - done.length, "transfer")}: ${error.message}`, { tone: "bad" });
  }
  return done;
};

/** Takes out of the list what the gateway has forgotten: no event tells of that. */
const isGone = (row) => {
  drop(row.id);
  say(`${row.name} is gone: it was deleted, or its time is over.`);
};

const isMeant = (action, rows) => {
  if (action === "delete") {
    const what = rows.length === 1 ? `“${rows[0].name}”` : count(rows.length, "transfer");
    return confirm(`Delete ${what}?`, "The entry and the gateway's copy of the content are removed for good.", "Delete");
  }
  if (action === "cancel" && rows.length > 1) {
    return confirm(`Cancel ${count(rows.length, "transfer")}?`, "What has come of them is given up. Each can be started again.", "Cancel them");
  }
  return true;
};

const performOne = async (action, row) => {
  const path = `/v1/tasks/${row.id}`;
  switch (action) {
    case "delete":
      await call("DELETE", path);
      drop(row.id);
      say(`Deleted ${row.name}.`);
      return;
    case "retry": {
      const [{ status, created, problem }] = await retry([row]);
      if (status >= 400) throw new Refusal(status, problem);
      refresh(created);
      say(`Started ${row.name} again.`);
      return;
    }
    default:
      await taking(() => post(`${path}/${action}`));
      if (action === "cancel") {
        say(`Cancelled ${row.name}.`, { action: "Start again", onaction: () => perform("retry", [tasks.row(row.id) ?? row]) });
      }
  }
};

/** Makes tasks again, each of them once however often it is tried after answers that were lost. */
const retry = async (rows) => {
  const { results } = await creations.post("/v1/tasks/actions", { action: "retry", tasks: rows.map((row) => row.id) });
  return results;
};

const performMany = async (action, rows, done) => {
  const failed = [];
  let gone = 0;
  try {
    for (let from = 0; from < rows.length; from += atOnce) {
      const some = rows.slice(from, from + atOnce);
      const results = action === "retry" ? await retry(some)
        : (await post("/v1/tasks/actions", { action, tasks: some.map((row) => row.id) })).results;
      for (const { task, status, problem } of results) {
        const isGone = status === 404 || (status < 400 && action === "delete");
        if (isGone) drop(task);
        if (status < 400 || (isGone && action === "delete")) done.push(task);
        else if (isGone) gone += 1;
        else failed.push(problem);
      }
    }
  } finally {
    if (done.length) say(`${count(done.length, "transfer")} ${past[action]}.`);
    if (gone) say(`${count(gone, "transfer")} not: ${gone === 1 ? "it is" : "they are"} gone.`);
    if (failed.length) say(`${count(failed.length, "transfer")} not: ${failed[0].detail ?? failed[0].title}`, { tone: "bad" });
  }
};

/** Puts transfers before or behind others of their session. */
export const prioritize = async (rows, priority) => {
  const chosen = rows.filter((row) => row.state !== "completed");
  let failure = null;
  await each(chosen, async (row) => {
    try { await taking(() => patch(`/v1/tasks/${row.id}`, { priority })); } catch (error) {
      if (error.status === 404) drop(row.id);
      failure = error;
    }
  });
  if (failure) say(failure.message, { tone: "bad" });
  else if (chosen.length) say(`Priority of ${count(chosen.length, "transfer")} changed.`);
};
