// Quotas of a tenant: what they are called, how far they are used, and how they are written.

import { h } from "./dom.js";
import { parseSize, percent, plainRate, plainSize, size } from "./format.js";

const number = { shown: (value) => value.toLocaleString(), written: String, example: "1000",
  read: (text) => (/^[0-9]{1,16}$/.test(text) ? Number(text) : null) };
const bytes = { shown: size, written: plainSize, example: "500 GiB", read: parseSize };
const speed = { shown: (value) => `${size(value)}/s`, written: plainRate, example: "20 MiB/s", read: parseSize };

/** By the API's names, in its order; `usual` is the limit of a tenant of whom nothing else was said. */
export const quotas = {
  sessions: { ...number, label: "Sessions", usual: 1000 },
  outstandingTasks: { ...number, label: "Unfinished transfers", usual: 100_000 },
  runningAttempts: { ...number, label: "Exchanges at a time", usual: 1024, help: "With origins; more wait for their turn." },
  storedBytes: { ...bytes, label: "Stored", usual: 1024 ** 4, help: "Results, caches and staged files." },
  stagedBytes: { ...bytes, label: "Staged files", usual: 100 * 1024 ** 3, help: "Uploaded here, to be sent on." },
  eventStreams: { ...number, label: "Event streams", usual: 1000 },
  webhooks: { ...number, label: "Webhooks", usual: 20 },
  requestsPerSecond: { ...number, label: "Requests a second", usual: 1000, help: "Twice as many at once." },
  bytesPerSecond: { ...speed, label: "Speed", usual: null, help: "Of all transfers together, both ways." },
};

/** What a field shows for a limit, and what is read of it: empty is no limit. Throws what is wrong. */
export const writeLimit = (name, limit) => (limit == null ? "" : quotas[name].written(limit));
export const readLimit = (name, text) => {
  const { read, example } = quotas[name];
  if (!text) return null;
  // 1,000 is a thousand for some, and one for others.
  const limit = text.includes(",") ? null : read(text);
  if (limit === null) throw new Error(`Write it like ${example}, or leave the field empty for no limit.`);
  return limit;
};

/** What is to be said beside the figures; empty where all is well. */
const remark = ({ used, limit }) => {
  if (limit === null) return "";
  if (used >= limit) return used > limit ? "over the limit" : "at the limit";
  return used >= limit * 0.9 ? `${percent(used / limit)} used` : "";
};

const toneOf = ({ used, limit }) => (limit === null || used < limit * 0.9 ? "" : used < limit ? ".near" : ".full");

/** How full it is, drawn; words stand beside it. */
const drawing = ({ used, limit }) => {
  const fill = h("i");
  fill.style.transform = `scaleX(${limit > 0 ? Math.min(1, used / limit) : Number(used > 0)})`;
  return fill;
};

const figures = (name, { used, limit }) => {
  const { shown } = quotas[name] ?? number;
  return limit === null ? shown(used) : `${shown(used)} of ${shown(limit)}`;
};

const line = (name, quota) => {
  const label = quotas[name]?.label ?? name;
  const words = figures(name, quota);
  const note = remark(quota);
  return h("li", h("p", h("span", label), h("strong", words, quota.limit === null && h("span.quiet", " · no limit"))),
    quota.limit !== null && h(`div.meter${toneOf(quota)}`, { role: "meter", "aria-label": label, "aria-valuemin": "0", "aria-valuemax": quota.limit,
      "aria-valuenow": Math.min(quota.used, quota.limit), "aria-valuetext": [words, note].filter(Boolean).join(", ") }, drawing(quota)),
    note && h(`p.remark${toneOf(quota)}`, note));
};

/** All quotas of an answer of `GET /v1/usage`, with figures and bars. */
export const usageList = (usage) => h("ul.quotas", Object.entries(usage.quotas).map(([name, quota]) => line(name, quota)));

/** That quota of which most is used, in words and drawn; null where none is set. */
export const fullest = (usage) => {
  const limited = Object.entries(usage.quotas).filter(([, { limit }]) => limit > 0);
  if (!limited.length) return null;
  const [name, quota] = limited.reduce((most, one) => (one[1].used / one[1].limit > most[1].used / most[1].limit ? one : most));
  return { words: `${quotas[name]?.label ?? name}: ${figures(name, quota)}`, tone: toneOf(quota), drawing: drawing(quota) };
};
