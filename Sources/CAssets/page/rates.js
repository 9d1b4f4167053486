// Bytes a second of the last ten minutes: of everything, of each session, and of tasks that moved.

const length = 600;
const taskLimit = 500;
const totals = { all: series(), sessions: new Map(), tasks: new Map() };
const listeners = new Set();

/** Seconds that nobody has watched are no number. */
function series() { return { values: new Float64Array(length).fill(NaN), pending: 0, usedAt: 0 }; }

const seriesOf = (map, key, bound = Infinity) => {
  let found = map.get(key);
  if (!found) {
    if (map.size >= bound) map.delete(map.keys().next().value);
    map.set(key, found = series());
  }
  return found;
};

/** Notes bytes that a task has moved since it was last noted. */
export const sample = (row, bytes) => {
  if (bytes <= 0) return;
  totals.all.pending += bytes;
  seriesOf(totals.sessions, row.session).pending += bytes;
  seriesOf(totals.tasks, row.id, taskLimit).pending += bytes;
};

/** The newest is the last; one value a second. */
export const ratesOf = (kind, key) =>
  (kind === "all" ? totals.all : totals[kind].get(key))?.values ?? new Float64Array(length).fill(NaN);

export const onSecond = (listener) => { listeners.add(listener); return () => listeners.delete(listener); };

export const measuredTasks = () => [...totals.tasks.keys()];
export const measuredSessions = () => [...totals.sessions.keys()];

/** Progress comes in lumps: what a second brings is shared out over some. */
const step = (one) => {
  one.values.copyWithin(0, 1);
  const moved = one.pending * 0.35;
  one.pending -= moved;
  if (one.pending < 1) one.pending = 0;
  one.values[length - 1] = moved;
  return moved;
};

let last = performance.now();
setInterval(() => {
  // A tab that sleeps misses seconds, and must not squeeze the time that has passed.
  const now = performance.now();
  const seconds = Math.min(length, Math.max(1, Math.round((now - last) / 1000)));
  last = now;
  for (let second = 0; second < seconds; second += 1) {
    step(totals.all);
    for (const one of totals.sessions.values()) step(one);
    for (const [key, one] of totals.tasks) {
      one.usedAt = step(one) > 0 ? now : one.usedAt || now;
      if (now - one.usedAt > length * 1000) totals.tasks.delete(key);
    }
  }
  for (const listener of listeners) listener();
}, 1000);
