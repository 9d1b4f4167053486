// Figures and times as people read them.

const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

/** Bytes: three significant digits, and never a jump in width from one unit to the next. */
export const size = (bytes) => {
  if (bytes == null || bytes < 0) return "–";
  let unit = 0;
  while (bytes >= 1000 && unit < units.length - 1) { bytes /= 1024; unit += 1; }
  if (unit === 0) return `${bytes} B`;
  return `${bytes < 10 ? bytes.toFixed(2) : bytes < 100 ? bytes.toFixed(1) : Math.round(bytes)} ${units[unit]}`;
};

export const rate = (bytes) => (bytes > 0 ? `${size(Math.round(bytes))}/s` : "–");

export const percent = (part) => `${Math.floor(Math.max(0, Math.min(1, part)) * 100)} %`;

/** Seconds as 0:42, 12:07, 3:04:09 or 2 d 4 h. */
export const duration = (seconds) => {
  if (!Number.isFinite(seconds) || seconds < 0) return "–";
  const whole = Math.ceil(seconds);
  const days = Math.floor(whole / 86_400);
  const hours = Math.floor(whole / 3600) % 24;
  const minutes = Math.floor(whole / 60) % 60;
  const two = (number) => String(number).padStart(2, "0");
  if (days > 99) return "> 99 d";
  if (days > 0) return `${days} d ${hours} h`;
  return hours > 0 ? `${hours}:${two(minutes)}:${two(whole % 60)}` : `${minutes}:${two(whole % 60)}`;
};

/** A short time with its unit: 840 µs, 12 ms, 3.4 s. */
export const span = (milliseconds) => {
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  return milliseconds < 60_000 ? `${(milliseconds / 1000).toFixed(1)} s` : duration(milliseconds / 1000);
};

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const exact = new Intl.DateTimeFormat(undefined, {
  hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const full = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const date = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });

/** 14:05 today, 3 Nov otherwise. */
export const moment = (instant) => {
  if (!instant) return "–";
  const time = new Date(instant);
  return time.toDateString() === new Date().toDateString() ? clock.format(time) : day.format(time);
};

export const timeOfDay = (instant) => exact.format(new Date(instant));
export const fullTime = (instant) => (instant ? full.format(new Date(instant)) : "–");
export const dateOnly = (instant) => date.format(new Date(instant));
export const count = (number, one, many = `${one}s`) => `${number.toLocaleString()} ${number === 1 ? one : many}`;

const letters = " kmgt";

/**
 * Bytes of "5M", "300 KiB/s", "2 MB" or "1000"; null where it is none. A letter alone and KiB, MiB, … go by 1024, as on
 * the command line; kB, MB, … by 1000.
 */
export const parseSize = (text) => {
  const match = /^\s*([0-9]+(?:\.[0-9]+)?)\s*([kmgt]?)(i?)(b|bytes?)?\s*(?:\/\s*s)?\s*$/i.exec(text);
  if (!match) return null;
  const [, number, letter, binary, bytes] = match;
  if (binary && !letter) return null;
  const value = Math.round(Number(number) * (bytes && !binary ? 1000 : 1024) ** letters.indexOf(letter.toLowerCase() || " "));
  return Number.isSafeInteger(value) ? value : null;
};

/** Bytes a second of a field; null where it is empty. Throws what is wrong with it. */
export const parseLimit = (text) => {
  if (!text.trim()) return null;
  // 1,000 is a thousand for some, and one for others.
  if (text.includes(",")) throw new Error(`Write the number without a comma, such as ${text.trim().replaceAll(",", "")} or 1.5 MiB/s.`);
  const bytes = parseSize(text);
  if (bytes === null) throw new Error("Write it like 500 KiB/s or 2 MiB/s.");
  if (bytes === 0) throw new Error("A limit is at least one byte a second. Leave the field empty for none.");
  return bytes;
};

const plainUnits = [1000, 1024].flatMap((base) => ["k", "M", "G", "T"].map((letter, index) =>
  [base === 1000 ? `${letter}B` : `${letter.toUpperCase()}iB`, base ** (index + 1)]));

/** Bytes exactly, as the field of a form shows them, to be read by `parseSize`. */
export const plainSize = (bytes) => {
  let shortest = [String(bytes), "B"];
  for (const [unit, factor] of plainUnits) {
    const number = Number((bytes / factor).toFixed(2));
    const digits = String(number);
    if (number >= 1 && Math.round(number * factor) === bytes && digits.length <= shortest[0].length) shortest = [digits, unit];
  }
  return shortest.join(" ");
};

/** The same of bytes a second; empty without a limit. */
export const plainRate = (bytes) => (bytes == null ? "" : `${plainSize(bytes)}/s`);

/** A limit in words: exactly, and in the unit of speeds where that is another one. */
export const limitWords = (bytes) => {
  if (!bytes) return "No limit";
  const exact = plainRate(bytes);
  return exact.includes("iB/s") || bytes < 1000 ? `At most ${exact}` : `At most ${exact} (${rate(bytes)})`;
};

/** What shows nothing, or turns round what stands beside it: controls, and marks of direction. Two that join letters stay. */
const unseen = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

/** A text of somebody else's as it may be shown. */
export const visible = (text) => String(text).replace(unseen, "");

export const hostOf = (url) => {
  try { return new URL(url).host; } catch { return ""; }
};

/** The last part of a URL's path, as a file would be called. */
export const nameOf = (url) => {
  try {
    const { pathname, host } = new URL(url);
    const last = pathname.split("/").filter(Boolean).at(-1) ?? "";
    let name = last;
    try { name = decodeURIComponent(last); } catch { /* As it stands there. */ }
    return visible(name).replace(/[\t\n\r]/g, "").trim() || host;
  } catch { return visible(url); }
};
