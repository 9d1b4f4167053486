// The options of a new transfer, folded away until somebody wants them.

import { h } from "./dom.js";
import { area, field, group, input, Invalid, readHeaders, reading, readMetadata, select, valueOf } from "./form.js";
import { digestOf } from "./bytes.js";
import { parseLimit } from "./format.js";
import { sessions, sessionName } from "./sessions.js";
import { get } from "./api.js";

const lines = (text) => text.split(/\s+/).filter(Boolean);

/** All fields: `{element, show(isUpload), …controls}`. */
export const optionFields = () => {
  const made = {
    session: select([["shared", "Shared session"], ...sessions.active().filter(({ type }) => type !== "shared").map((one) => [one.id, sessionName(one)])], "shared"),
    type: select([["download", "Download to a file"], ["data", "Data, decoded"]], "download"),
    fileName: input({ placeholder: "the server's" }), description: input({ maxlength: 1024 }),
    resume: input({ type: "checkbox", checked: true }),
    digest: input({ placeholder: "SHA-256 or SHA-512" }), connections: input({ type: "number", min: 1, max: 16, value: "1" }),
    mirrors: area({ rows: 2, placeholder: "https://mirror.example/file.iso" }), limit: input({ placeholder: "none, or 2 MiB/s" }),
    priority: select([["1", "First"], ["0.75", "High"], ["0.5", "Normal"], ["0.25", "Low"]], "0.5"),
    begin: input({ type: "datetime-local" }), retries: input({ type: "number", min: 0, max: 100, value: "3" }),
    method: select(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"], "GET"), headers: area({ rows: 2, placeholder: "Accept: application/json" }),
    body: area({ rows: 2 }), folder: select([["", "Keep it in the gateway"]], ""), path: input({ placeholder: "its name, or films/" }),
    metadata: area({ rows: 2, placeholder: "project=apollo" }),
    exists: select([["rename", "Choose another name"], ["fail", "Fail"], ["replace", "Replace it"]], "rename"),
  };
  const downloads = [
    field("Checksum", made.digest, { pointer: "/expectedDigest", help: "The transfer fails if the file has another one." }),
    field("Connections", made.connections, { pointer: "/connections", help: "Ranges side by side, where the server can." }),
    field("Mirrors", made.mirrors, { pointer: "/mirrors", help: "Other URLs of the same file.", wide: true }),
  ];
  const folders = h("div.fields", { hidden: true }, field("Save in", made.folder, { pointer: "/destination/folder" }),
    field("As", made.path, { pointer: "/destination/path", help: "Where it ends with a slash, the file's name is added." }), field("If it is there already", made.exists, { pointer: "/destination/ifExists" }));
  const request = group("Request", field("Method", made.method, { pointer: "/request/method" }),
    field("Headers", made.headers, { pointer: "/request/headers", help: "Name: value, one a line.", wide: true }),
    field("Body", made.body, { pointer: "/body", help: "Text. For methods other than GET and HEAD.", wide: true }));
  const kind = field("Kind", made.type, { pointer: "/type" });
  const element = h("details.options", h("summary", "Options"),
    h("div.fields", field("Session", made.session, { pointer: "/session" }), kind, field("File name", made.fileName, { pointer: "/fileName" }),
      field("Description", made.description, { pointer: "/description" }),
      field("Metadata", made.metadata, { pointer: "/metadata", help: "NAME=VALUE, one a line: texts of your own, for lists and programs.", wide: true })), folders,
    h("fieldset", h("legend", "When and how fast"), h("div.fields",
      field("Begin not before", made.begin, { pointer: "/earliestBeginDate" }), field("Limit", made.limit, { pointer: "/maximumBytesPerSecond" }),
      field("Priority", made.priority, { pointer: "/priority" }),
      field("Retries", made.retries, { pointer: "/retry/attempts", help: "After network failures and busy servers." }),
      field("Start at once", made.resume, { pointer: "/resume" }))),
    h("fieldset.downloads", h("legend", "File"), h("div.fields", downloads)), request);
  loadFolders(made, folders);
  return { ...made, element, show: (isUpload) => {
    for (const part of [kind, element.querySelector(".downloads"), request.querySelector("[data-pointer='/body']"), request.querySelector("[data-pointer='/request/method']")]) part.hidden = isUpload;
    folders.hidden = isUpload || made.folder.options.length < 2;
  } };
};

/** The folders that the operator has named; without the scope for it there are none. */
const loadFolders = async (made, place) => {
  const names = await get("/v1/gateway").then(({ folders = [] }) => folders.map((one) => one.name ?? one), () => []);
  for (const name of names) made.folder.append(h("option", { value: name }, name));
  place.hidden = names.length === 0;
};

/** `{session, spec}`: what all of the new tasks have in common. */
export const readOptions = (made, isUpload) => {
  const spec = { type: made.type.value, resume: made.resume.checked, priority: Number(made.priority.value), request: {} };
  if (made.fileName.value.trim()) spec.fileName = made.fileName.value.trim();
  if (made.description.value.trim()) spec.description = made.description.value.trim();
  const limit = reading("/maximumBytesPerSecond", () => parseLimit(made.limit.value));
  if (limit) spec.maximumBytesPerSecond = limit;
  const begin = valueOf(made.begin, "/earliestBeginDate");
  if (begin) spec.earliestBeginDate = new Date(begin).toISOString();
  const attempts = Number(valueOf(made.retries, "/retry/attempts"));
  if (attempts > 0) spec.retry = { attempts };
  spec.request.headers = reading("/request/headers", () => readHeaders(made.headers.value));
  const metadata = reading("/metadata", () => readMetadata(made.metadata.value));
  if (Object.keys(metadata).length) spec.metadata = metadata;
  if (isUpload) return { session: made.session.value, spec };
  if (spec.type === "download") {
    const connections = Number(valueOf(made.connections, "/connections") || 1);
    if (connections !== 1) spec.connections = connections;
    if (made.mirrors.value.trim()) spec.mirrors = lines(made.mirrors.value);
    if (made.folder.value) spec.destination = { folder: made.folder.value, path: made.path.value.trim(), ifExists: made.exists.value };
  }
  if (made.digest.value.trim()) {
    spec.expectedDigest = digestOf(made.digest.value);
    if (!spec.expectedDigest) throw new Invalid("/expectedDigest", "That is no SHA-256 or SHA-512: 64 or 128 hexadecimal digits.");
  }
  if (made.method.value !== "GET") spec.request.method = made.method.value;
  if (made.body.value) {
    if (["GET", "HEAD"].includes(made.method.value)) throw new Invalid("/body", "A body needs another method, such as POST.");
    spec.body = { text: made.body.value };
  }
  return { session: made.session.value, spec };
};
