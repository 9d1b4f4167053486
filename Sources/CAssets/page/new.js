// New transfers: from URLs, or of files that are uploaded.

import { dialog, h, icon, say, write } from "./dom.js";
import { call, onceKey } from "./api.js";
import { area, clearFaults, field, input, select, showFault } from "./form.js";
import { Invalid, optionFields, readOptions } from "./new-options.js";
import { isList, readURLs } from "./urls.js";
import { discard, stage } from "./upload.js";
import { take } from "./tasks.js";
import { count, nameOf, percent, size } from "./format.js";

let shown = null;

/** Opens the dialog, with what was dropped on the page. */
export const open = async ({ files = [], text = "" } = {}) => {
  if (!shown?.box.isConnected) build();
  if (text) addText(text);
  if (files.length) await addFiles(files);
  if (!files.length) shown.urls.focus();
};

const build = () => {
  const { box, body, foot, show } = dialog("New transfer", { wide: true, onclose: () => { shown?.control?.abort(); shown = null; } });
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
  shown = { box, form, urls, target, method, options, submit, files: [], list: files, upload, fetchPart, general };
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
  for (const file of files) {
    const isShortText = file.size < 256 << 10 && (/\.(txt|list|urls?|uri)$/i.test(file.name) || file.type === "text/uri-list");
    const text = isShortText ? await file.text() : "";
    if (text && isList(text)) { addText(text); continue; }
    const entry = { file, part: h("span.part"), line: null };
    entry.line = h("li", icon("file"), h("span.name", file.name), h("span.quiet", size(file.size)), entry.part,
      h("button.plain", { type: "button", "aria-label": `Do not upload ${file.name}`, onclick: () => {
        shown.files = shown.files.filter((one) => one !== entry);
        entry.line.remove();
        showKind();
      } }, icon("close")));
    shown.files.push(entry);
    shown.list.append(entry.line);
  }
  showKind();
  if (shown.files.length) shown.target.focus();
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
  const { form, submit, general } = shown;
  if (submit.disabled) return;
  clearFaults(form);
  submit.disabled = true;
  try {
    const options = readOptions(shown.options, shown.files.length > 0);
    await (shown.files.length ? startUploads(options) : startFetching(options));
  } catch (error) {
    if (error.name === "AbortError" || !shown) return;
    if (!(error instanceof Invalid) || !showFault(form, error.pointer, error.message)) {
      if (!showFault(form, error.pointer, error.message)) general.textContent = error.message;
    }
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
  const failed = [];
  for (let from = 0; from < lines.length; from += 500) {
    const some = lines.slice(from, from + 500);
    const { results } = await call("POST", `/v1/sessions/${session}/tasks`, {
      body: some.map(({ url }) => ({ ...spec, ...placeOf(spec, url), request: { ...spec.request, url } })), headers: { "Idempotency-Key": onceKey() } });
    results.forEach((result, index) => {
      if (result.task) take(result.task);
      else failed.push({ ...some[index], problem: result.problem, fault: result.problem.detail ?? `${result.problem.title}.` });
    });
  }
  if (!shown) return;
  const done = lines.length - failed.length;
  if (done) say(done === 1 ? "Started." : `${count(done, "transfer")} started.`);
  if (!failed.length) { shown.box.close(); return; }
  // What was refused stays to be mended; what was taken goes.
  shown.urls.value = failed.map(({ text }) => text).join("\n");
  label();
  const [{ problem }] = failed;
  const pointer = (problem.pointer ?? "").replace(/^\/\d+(?=\/)/, "");
  if (pointer === "/request/url" || !showFault(shown.form, pointer, failed[0].fault)) {
    throw new Invalid("/request/url", faultsOf(failed.map((one, index) => ({ ...one, line: index + 1 })), failed.length));
  }
};

/** Where a file is saved: under its own name, unless another one was given. */
const placeOf = ({ destination, fileName }, url) => {
  if (!destination) return {};
  const { path } = destination;
  return { destination: { ...destination, path: path && !path.endsWith("/") ? path : path.replace(/^\/+/, "") + (fileName || nameOf(url)) } };
};

const faultsOf = (wrong, whole) => wrong.slice(0, 5).map(({ line, fault }) => (whole > 1 ? `Line ${line}: ${fault}` : fault)).join("\n")
  + (wrong.length > 5 ? `\nand ${wrong.length - 5} more` : "");

const startUploads = async ({ session, spec }) => {
  const address = readURLs(shown.target.value)[0];
  if (!address) throw new Invalid("/upload/url", "Say where it shall go.");
  if (address.fault) throw new Invalid("/upload/url", address.fault);
  if (shown.files.length > 1 && !address.url.endsWith("/")) throw new Invalid("/upload/url", "Several files need a URL that ends with a slash: their names are added.");
  const control = shown.control = new AbortController();
  const entries = [...shown.files];
  for (const entry of entries) {
    const { file, part, line } = entry;
    write(part, percent(0));
    const id = await stage(file, { signal: control.signal, progress: (bytes) => write(part, percent(file.size ? bytes / file.size : 1)) });
    const url = address.url.endsWith("/") ? address.url + encodeURIComponent(file.name) : address.url;
    try {
      take(await call("POST", `/v1/sessions/${session}/tasks`, { headers: { "Idempotency-Key": onceKey() },
        body: { ...spec, type: "upload", description: spec.description ?? file.name,
          request: { ...spec.request, url, method: shown.method.value }, body: { file: id } } }));
    } catch (error) {
      discard(id);
      if (error.pointer === "/request/url") throw new Invalid("/upload/url", error.message);
      throw error;
    }
    shown.files = shown.files.filter((one) => one !== entry);
    line.remove();
  }
  say(entries.length === 1 ? `Uploading ${entries[0].file.name}.` : `Uploading ${count(entries.length, "file")}.`);
  shown.box.close();
};
