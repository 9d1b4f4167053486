// How it goes: speed, numbers, limit and disk.

import { h, say, write } from "./dom.js";
import { noteSwitch } from "./notes.js";
import { get, patch } from "./api.js";
import { count, duration, fullTime, limitWords, parseLimit, plainRate, rate, size } from "./format.js";
import { graph } from "./graph.js";
import { usageList } from "./quotas.js";
import { measuredSessions, measuredTasks, onSecond, ratesOf } from "./rates.js";
import { sessions, sessionName } from "./sessions.js";
import { tasks } from "./tasks.js";

let parts = null;
let gateway = null;
/** Counts begins and ends of changes: what was asked before one is older than its answer. */
let changes = 0;
/** From 128 KiB/s to 1 GiB/s by equal ratios; the end of the slider is no limit. */
const steps = 79;
const least = 128 << 10;
const rateAt = (step) => {
  if (step >= steps) return null;
  const exact = least * 2 ** (step / 6);
  const unit = 1024 ** Math.floor(Math.log2(exact) / 10);
  return Math.round(Number((exact / unit).toPrecision(exact / unit >= 100 ? 3 : 2)) * unit);
};
const stepOf = (bytes) => (bytes ? Math.max(0, Math.min(steps - 1, Math.round(6 * Math.log2(bytes / least)))) : steps);

const figure = (label) => { const value = h("strong", "–"); return { value, element: h("div.figure-card", h("span", label), value) }; };

const build = (section) => {
  parts = {
    speed: figure("Speed now"), running: figure("Running"), waiting: figure("Waiting"), asks: figure("Ask you"), failed: figure("Failed"), done: figure("Done"),
    which: h("select", { "aria-label": "Whose speed", onchange: drawGraph }), chart: h("div"),
    slider: h("input", { type: "range", min: "0", max: String(steps), id: "limit", "aria-describedby": "limit-now", oninput: slide, onchange: saveSlider }),
    exact: h("input", { "aria-label": "Limit of the whole gateway, for example 20 MiB/s", "aria-describedby": "limit-fault", placeholder: "none", onchange: saveExact }),
    now: h("p", { id: "limit-now" }), fault: h("p.fault", { id: "limit-fault", role: "alert" }), limit: h("section.card"), disk: h("section.card"), about: h("section.card"), usage: h("section.card"),
  };
  parts.limit.append(h("h2", "Limit of the whole gateway"), h("label.hidden", { for: "limit" }, "Limit of the whole gateway"), parts.slider, parts.now, parts.exact, parts.fault,
    h("p.quiet", "All transfers share it; it counts from now on, and stays over restarts."));
  section.append(h("div.page-head", h("h1", "Overview"), noteSwitch()),
    h("div.board", ["speed", "running", "waiting", "asks", "failed", "done"].map((key) => parts[key].element)),
    h("section.card.wide-card", h("header", h("h2", "Speed of the last 10 minutes"), parts.which), parts.chart),
    h("div.two", parts.limit, parts.disk, parts.about, parts.usage));
  onSecond(() => { if (!section.hidden) { drawFigures(); drawGraph(); } });
  setInterval(() => { if (!section.hidden) { loadGateway(); loadUsage(); } }, 10_000);
};

const drawFigures = () => {
  const now = performance.now();
  const numbers = { running: 0, waiting: 0, asks: 0, failed: 0, done: 0 };
  let speed = 0;
  for (const row of tasks.all()) {
    speed += row.state === "running" ? row.speed(now) : 0;
    const { kind, group } = row;
    if (kind === "running" || kind === "ending") numbers.running += 1;
    else if (kind === "waits" || kind === "paused") numbers.waiting += 1;
    else if (kind === "asks") numbers.asks += 1;
    else if (group !== "cancelled") numbers[group] += 1;
  }
  write(parts.speed.value, speed > 0 ? rate(speed) : "0 B/s");
  for (const key of Object.keys(numbers)) write(parts[key].value, numbers[key].toLocaleString());
};

const drawGraph = () => {
  const value = parts.which.value || "all";
  const options = [["all", "The gateway"], ...measuredSessions().map((id) => [`sessions ${id}`, `Session: ${sessionName(sessions.get(id)) || id}`]),
    ...measuredTasks().slice(-50).map((id) => [`tasks ${id}`, `Transfer: ${tasks.row(id)?.name ?? id}`])];
  const key = options.map(([one]) => one).join();
  if (parts.which.dataset.key !== key && document.activeElement !== parts.which) {
    parts.which.dataset.key = key;
    parts.which.replaceChildren(...options.map(([one, label]) => h("option", { value: one, selected: one === value }, label)));
  }
  const [kind, id] = value.split(" ");
  const values = ratesOf(kind, id);
  parts.chart.replaceChildren(graph(values, `Speed of ${parts.which.selectedOptions[0]?.textContent ?? "the gateway"}, now ${values.at(-1) > 0 ? rate(values.at(-1)) : "nothing"}`));
};

// MARK: limit, disk

function slide() { write(parts.now, limitWords(rateAt(Number(parts.slider.value)))); parts.slider.setAttribute("aria-valuetext", parts.now.textContent); }

async function save(bytes) {
  changes += 1;
  try {
    gateway = await patch("/v1/gateway", { maximumBytesPerSecond: bytes });
  } catch (error) { say(error.message, { tone: "bad" }); }
  changes += 1;
  if (gateway) drawGateway();
}

function saveSlider() { save(rateAt(Number(parts.slider.value))); }

function saveExact() {
  write(parts.fault, "");
  parts.exact.removeAttribute("aria-invalid");
  try { save(parseLimit(parts.exact.value)); } catch (error) {
    write(parts.fault, error.message);
    parts.exact.setAttribute("aria-invalid", "true");
  }
}

const drawGateway = () => {
  const limit = gateway.maximumBytesPerSecond;
  if (document.activeElement !== parts.slider) { parts.slider.value = stepOf(limit); slide(); write(parts.now, limitWords(limit)); }
  if (document.activeElement !== parts.exact && !parts.exact.hasAttribute("aria-invalid")) parts.exact.value = plainRate(limit);
  const { disk } = gateway;
  const fill = h("i");
  if (disk) fill.style.transform = `scaleX(${disk.total ? (disk.total - disk.free) / disk.total : 0})`;
  parts.disk.replaceChildren(h("h2", "Disk"), ...(disk ? [h(`div.meter${disk.free < disk.total / 20 ? ".full" : ""}`, { role: "img", "aria-label": `${size(disk.free)} of ${size(disk.total)} are free` }, fill),
    h("p", `${size(disk.free)} free of ${size(disk.total)}`), disk.reserve != null && h("p.quiet", `${size(disk.reserve)} are held back for the gateway itself.`)].filter(Boolean)
    : [h("p.quiet", "This gateway does not tell.")]));
  const fact = (name, value) => (value == null ? [] : [h("dt", name), h("dd", value)]);
  parts.about.replaceChildren(h("h2", "This gateway"), h("dl.facts", fact("Version", [gateway.version, gateway.commit].filter(Boolean).join(" · ")),
    fact("Started", fullTime(gateway.startedAt)), fact("Up for", duration((Date.now() - Date.parse(gateway.startedAt)) / 1000)),
    fact("Folders", gateway.folders?.length ? gateway.folders.map((one) => one.name ?? one).join(", ") : null),
    fact("Put-off work", gateway.backgroundUpdates ? "begins in quiet times" : "is held"), fact("Transfers known", count(tasks.count, "transfer"))),
  h("p", h("a", { href: "/openapi.yaml" }, "The API, for programs")));
};

const loadGateway = async () => {
  const before = changes;
  try {
    const answer = await get("/v1/gateway");
    if (changes !== before) return;
    gateway = answer;
    parts.limit.hidden = parts.about.hidden = false;
    drawGateway();
  } catch (error) {
    parts.disk.replaceChildren(h("h2", "Disk"), h("p.quiet", error.status === 403 ? "Your token may not look at the gateway as a whole." : error.message));
    parts.limit.hidden = parts.about.hidden = error.status === 403;
  }
};

const loadUsage = async () => {
  const content = await get("/v1/usage").then(usageList, (error) => h("p.quiet", error.message));
  parts.usage.replaceChildren(h("h2", "What your tenant uses"), content);
};

export const show = async (section) => {
  if (!parts) build(section);
  drawFigures();
  drawGraph();
  await Promise.all([loadGateway(), loadUsage()]);
};
