// Spans of time in whole units, as people say them.

import { count } from "./format.js";

/** Seconds of each. */
export const spanUnits = { days: 86_400, hours: 3600, minutes: 60, seconds: 1 };

/** The number and the largest unit that say it exactly; empty and days for none. */
export const partsOfSpan = (seconds) => {
  if (seconds === null) return ["", "days"];
  const [unit, factor] = Object.entries(spanUnits).find(([, one]) => seconds % one === 0);
  return [String(seconds / factor), unit];
};

export const spanWords = (seconds) => {
  const [number, unit] = partsOfSpan(seconds);
  return count(Number(number), unit.slice(0, -1));
};
