// What can be done with tasks, one or many.

import { call, each, patch, post } from "./api.js";
import { confirm, say } from "./dom.js";
import { count } from "./format.js";
import { take, drop, tasks } from "./tasks.js";

const past = { suspend: "suspended", resume: "resumed", cancel: "cancelled", delete: "deleted", retry: "started again" };
const atOnce = 500;

const fits = {
  suspend: (row) => row.state === "running",
  resume: (row) => row.state === "suspended",
  cancel: (row) => row.state === "running" || row.state === "suspended",
  delete: (row) => row.state === "completed",
  retry: (row) => row.state === "completed",
};

/** Those of the tasks that an action is for. */
export const fitting = (action, rows) => rows.filter(fits[action]);

/** Does it, and says what came of it. Asks first where much would be lost. */
export const perform = async (action, rows) => {
  const chosen = fitting(action, rows);
  if (!chosen.length) return;
  if (!await isMeant(action, chosen)) return;
  try {
    if (chosen.length === 1) await performOne(action, chosen[0]);
    else await performMany(action, chosen);
  } catch (error) {
    say(`${chosen.length === 1 ? chosen[0].name : count(chosen.length, "transfer")}: ${error.message}`, { tone: "bad" });
  }
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
      const task = await post(`${path}/retry`);
      take(task);
      say(`Started ${row.name} again.`);
      return;
    }
    default:
      take(await post(`${path}/${action}`));
      if (action === "cancel") {
        say(`Cancelled ${row.name}.`, { action: "Start again", onaction: () => perform("retry", [tasks.row(row.id) ?? row]) });
      }
  }
};

const performMany = async (action, rows) => {
  let failed = null;
  let failures = 0;
  for (let from = 0; from < rows.length; from += atOnce) {
    const some = rows.slice(from, from + atOnce);
    const { results } = await post("/v1/tasks/actions", { action, tasks: some.map((row) => row.id) });
    for (const result of results) {
      if (result.status >= 400 && result.status !== 404) { failures += 1; failed ??= result.problem; }
      else if (action === "delete") drop(result.task);
    }
  }
  const done = rows.length - failures;
  if (done) say(`${count(done, "transfer")} ${past[action]}.`);
  if (failures) say(`${count(failures, "transfer")} not: ${failed?.detail ?? failed?.title ?? "refused"}`, { tone: "bad" });
};

/** Puts transfers before or behind others of their session. */
export const prioritize = async (rows, priority) => {
  const chosen = rows.filter((row) => row.state !== "completed");
  let failure = null;
  await each(chosen, async (row) => {
    try { take(await patch(`/v1/tasks/${row.id}`, { priority })); } catch (error) { failure = error; }
  });
  if (failure) say(failure.message, { tone: "bad" });
  else if (chosen.length) say(`Priority of ${count(chosen.length, "transfer")} changed.`);
};
