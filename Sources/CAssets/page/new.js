// New transfers: from URLs, or of files that are uploaded.

import { dialog, h, icon, say, write } from "./dom.js";
import { Creations } from "./api.js";
import { area, clearFaults, field, input, Invalid, select, showFault, showRefusal } from "./form.js";
import { optionFields, readOptions } from "./new-options.js";
import { isList, readURLs } from "./urls.js";
import { Staging } from "./upload.js";
import { taking } from "./tasks.js";
import { count, nameOf, percent, size } from "./format.js";

/** As many tasks as one call makes. */
const pieceLength = 500;
let shown = null;

/** Opens the dialog, with what was dropped on the page. */
export const open = async ({ files = [], text = "" } = {}) => {
  if (!shown?.box.open) build();
  if (text) addText(text);
  if (files.length) await addFiles(files);
  else shown.urls.focus();
};

const build = () => {
  const { box, body, foot, show } = dialog("New transfer", {
    wide: true, mayLose: () => made.files.length > 0 || urls.value !== "",
    onclose: () => {
      // What nobody has started is not left with the gateway.
      for (const { staging } of made.files) staging.giveUp();
      if (shown === made) shown = null;
    } });
  const urls = area({ rows: 5, id: "new-urls", placeholder: "https://example.com/file.iso", "aria-keyshortcuts": "Control+Enter" });
  const chooser = input({ type: "file", multiple: true, id: "new-files" });
  const target = input({ type: "url", placeholder: "https://example.com/store/", inputmode: "url" });
  const method = select(["PUT", "POST"], "PUT");
  const options = optionFields();
  const submit = h("button.primary", { type: "submit" }, "Start");
  const files = h("ul.files");
  const upload = h("div.upload", { hidden: true },
    h("p", h("strong", "Upload"), " ", h("span.quiet", "to the gateway first, in pieces that survive a cut, and from there to its place.")), files,
    h("div.fields.upload-to", field("To this URL", target, { pointer: "/upload/url", help: "Where it ends with a slash, the file's name is added." }), field("Method", method)));
  const fetchPart = field("URLs, one a line", urls, { pointer: "/request/url", wide: true });
  const general = h("p.fault", { role: "alert" });
  const form = h("form.new", { novalidate: true }, fetchPart,
    h("div.choose", h("label.button", { for: "new-files" }, icon("up"), h("span", "Upload files…")), chooser, h("span.quiet", "or drop them anywhere, or a list of URLs")),
    upload, options.element, general);
  form.append(h("button.hidden", { tabindex: "-1", "aria-hidden": "true" }, "Start"));
  submit.addEventListener("click", () => form.requestSubmit());
  urls.addEventListener("input", () => { clearFaults(fetchPart); label(); });
  urls.addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit(); });
  chooser.addEventListener("change", () => { addFiles([...chooser.files]); chooser.value = ""; });
  form.addEventListener("submit", (event) => { event.preventDefault(); start(); });
  body.append(form);
  foot.append(h("button", { type: "button", onclick: () => box.close() }, "Cancel"), submit);
  const made = { box, form, urls, target, method, options, submit, files: [], list: files, upload, fetchPart, general,
    creations: new Creations(), unsure: [] };
  shown = made;
  show();
};

const label = () => {
  const number = shown.files.length || readURLs(shown.urls.value).length;
  write(shown.submit, shown.files.length ? (number > 1 ? `Upload ${number} files` : "Upload") : number > 1 ? `Start ${number}` : "Start");
};

const addText = (text) => {
  shown.urls.value = [shown.urls.value.trim(), text.trim()].filter(Boolean).join("\n");
  label();
};

const addFiles = async (files) => {
  const dialogue = shown;
  for (const file of files) {
    const isShortText = file.size < 256 << 10 && (/\.(txt|list|urls?|uri)$/i.test(file.name) || file.type === "text/uri-list");
    // What cannot be read says so when it is to be sent.
    const text = isShortText ? await file.text().catch(() => "") : "";
    if (shown !== dialogue) return;
    if (text && isList(text)) { addText(text); continue; }
    const entry = { file, staging: new Staging(file), part: h("span.part"), line: null };
    entry.line = h("li", icon("file"), h("span.name", file.name), h("span.quiet", size(file.size)), entry.part,
      h("button.plain", { type: "button", "aria-label": `Do not upload ${file.name}`, onclick: () => {
        entry.staging.giveUp();
        leaveOut(entry);
      } }, icon("close")));
    shown.files.push(entry);
    shown.list.append(entry.line);
  }
  showKind();
  if (shown.files.length) shown.target.focus();
};

const leaveOut = (entry) => {
  shown.files = shown.files.filter((one) => one !== entry);
  entry.line.remove();
  showKind();
};

/** Files to upload take the place of URLs to fetch. */
const showKind = () => {
  const isUpload = shown.files.length > 0;
  shown.upload.hidden = !isUpload;
  shown.fetchPart.hidden = isUpload;
  shown.options.show(isUpload);
  label();
};

const start = async () => {
  const dialogue = shown;
  const { form, submit, general } = dialogue;
  if (submit.disabled) return;
  clearFaults(form);
  general.textContent = "";
  submit.disabled = true;
  try {
    const options = readOptions(dialogue.options, dialogue.files.length > 0);
    await (dialogue.files.length ? startUploads(options) : startFetching(options));
  } catch (error) {
    if (shown === dialogue && error.name !== "AbortError") showRefusal(form, general, error);
  } finally {
    submit.disabled = false;
  }
};

const startFetching = async ({ session, spec }) => {
  const lines = readURLs(shown.urls.value);
  if (!lines.length) throw new Invalid("/request/url", "Give a URL to fetch.");
  const wrong = lines.filter(({ fault }) => fault);
  if (wrong.length) throw new Invalid("/request/url", faultsOf(wrong, lines.length));
  if (lines.length > 1 && spec.fileName) throw new Invalid("/fileName", "One name does not do for several files.");
  if (lines.length > 1 && spec.expectedDigest) throw new Invalid("/expectedDigest", "One checksum does not do for several files.");
  const path = spec.destination?.path;
  if (lines.length > 1 && path && !path.endsWith("/")) throw new Invalid("/destination/path", "For several files end it with a slash: their names are added.");
  const dialogue = shown;
  const failed = [];
  let done = 0;
  try {
    for (let rest = lines; rest.length;) {
      const piece = rest.slice(0, pieceOf(rest));
      dialogue.unsure = piece.map(({ url }) => url);
      const { results } = await taking(() => dialogue.creations.post(`/v1/sessions/${session}/tasks`,
        piece.map(({ url }) => ({ ...spec, ...placeOf(spec, url), request: { ...spec.request, url } }))),
      (answer) => answer.results.flatMap(({ task }) => task ?? []));
      results.forEach(({ task, problem }, index) => {
        if (task) done += 1;
        else failed.push({ ...piece[index], problem, fault: problem.detail ?? `${problem.title}.` });
      });
      rest = rest.slice(piece.length);
      if (shown !== dialogue) return;
      // What was taken goes; what was refused stays to be mended, behind what has not been sent yet or was typed meanwhile.
      const refused = piece.filter((_, index) => results[index].problem);
      dialogue.urls.value = [...without(dialogue.urls.value, piece), ...refused.map(({ text }) => text)].join("\n");
      dialogue.unsure = [];
      label();
    }
  } finally {
    if (done) say(done === 1 ? "Started." : `${count(done, "transfer")} started.`);
  }
  const left = readURLs(dialogue.urls.value);
  if (!left.length) { dialogue.box.close(); return; }
  const places = [...left];
  const refused = failed.flatMap((one) => {
    const at = places.findIndex(({ text }) => text === one.text);
    return at < 0 ? [] : [{ ...one, line: places.splice(at, 1)[0].line }];
  });
  if (!refused.length) return;
  const [{ problem, fault }] = refused;
  const pointer = (problem.pointer ?? "").replace(/^\/\d+(?=\/)/, "");
  if (pointer === "/request/url" || !showFault(dialogue.form, pointer, fault)) {
    throw new Invalid("/request/url", faultsOf(refused, left.length));
  }
};

/** The lines of a text but for those that were sent, each once, and for empty ones. */
const without = (text, sent) => {
  const counts = new Map();
  for (const one of sent) counts.set(one.text, (counts.get(one.text) ?? 0) + 1);
  return text.split(/\r?\n/).filter((line) => {
    const number = counts.get(line.trim()) ?? 0;
    if (number) counts.set(line.trim(), number - 1);
    return !number && line.trim() !== "";
  });
};

/** How many of the lines make the next call: those of a call whose answer was lost stay together, for they are known by it. */
const pieceOf = (lines) => {
  const { unsure } = shown;
  const isSame = unsure.length > 0 && unsure.every((url, index) => lines[index]?.url === url);
  return isSame ? unsure.length : pieceLength;
};

/** Where a file is saved: under its own name, unless another one was given. */
const placeOf = ({ destination, fileName }, url) => {
  if (!destination) return {};
  const { path } = destination;
  return { destination: { ...destination, path: path && !path.endsWith("/") ? path : path.replace(/^\/+/, "") + (fileName || nameOf(url).replaceAll("/", "_")) } };
};

const faultsOf = (wrong, whole) => wrong.slice(0, 5).map(({ line, fault }) => (whole > 1 ? `Line ${line}: ${fault}` : fault)).join("\n")
  + (wrong.length > 5 ? `\nand ${wrong.length - 5} more` : "");

const startUploads = async ({ session, spec }) => {
  const address = readURLs(shown.target.value)[0];
  if (!address) throw new Invalid("/upload/url", "Say where it shall go.");
  if (address.fault) throw new Invalid("/upload/url", address.fault);
  if (shown.files.length > 1 && !address.url.endsWith("/")) throw new Invalid("/upload/url", "Several files need a URL that ends with a slash: their names are added.");
  const dialogue = shown;
  let done = 0;
  let last = null;
  for (const entry of [...dialogue.files]) {
    const { file, part, staging } = entry;
    // It may have been taken off the list meanwhile.
    if (!dialogue.files.includes(entry)) continue;
    write(part, percent(0));
    let id;
    try {
      id = await staging.send((bytes) => write(part, percent(file.size ? bytes / file.size : 1)));
    } catch (error) {
      if (error.name === "AbortError" && shown === dialogue) continue;
      throw error;
    }
    const url = address.url.endsWith("/") ? address.url + encodeURIComponent(file.name) : address.url;
    try {
      await taking(() => staging.use(`/v1/sessions/${session}/tasks`, {
        ...spec, type: "upload", description: spec.description ?? file.name,
        request: { ...spec.request, url, method: dialogue.method.value }, body: { file: id } }));
    } catch (error) {
      if (error.pointer === "/request/url") throw new Invalid("/upload/url", error.message);
      throw error;
    }
    done += 1;
    last = file;
    if (shown !== dialogue) break;
    leaveOut(entry);
  }
  if (done) say(done === 1 ? `Uploading ${last.name}.` : `Uploading ${count(done, "file")}.`);
  if (shown === dialogue && !dialogue.files.length) dialogue.box.close();
};
