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

const factors = { "": 1, k: 1e3, m: 1e6, g: 1e9, t: 1e12 };

/** Bytes of "5M", "300 KiB/s" or "1000"; null where it is none. */
export const parseSize = (text) => {
  const match = /^\s*([0-9]+(?:[.,][0-9]+)?)\s*([kmgt]?)(i?)(?:b(?:ytes)?)?\s*(?:\/\s*s)?\s*$/i.exec(text);
  if (!match) return null;
  const letter = match[2].toLowerCase();
  const factor = match[3] ? 1024 ** " kmgt".indexOf(letter) : factors[letter];
  return Math.round(Number(match[1].replace(",", ".")) * factor);
};

/** Bytes a second as the field of a form shows them, to be read by `parseSize`. */
export const plainRate = (bytes) => {
  if (bytes == null) return "";
  for (const [letter, factor] of [["G", 1e9], ["M", 1e6], ["k", 1e3]]) {
    if (bytes >= factor && bytes % (factor / 100) === 0) return `${bytes / factor} ${letter}B/s`;
  }
  return String(bytes);
};

export const hostOf = (url) => {
  try { return new URL(url).host; } catch { return ""; }
};

/** The last part of a URL's path, as a file would be called. */
export const nameOf = (url) => {
  try {
    const parts = new URL(url).pathname.split("/").filter(Boolean);
    const last = parts.at(-1);
    if (!last) return new URL(url).host;
    try { return decodeURIComponent(last); } catch { return last; }
  } catch { return url; }
};
