// A new session: every property, its default shown.

import { h, say } from "./dom.js";
import { Creations } from "./api.js";
import { area, field, formDialog, group, input, reading, readMetadata, select, valueOf } from "./form.js";
import { configurationFields } from "./session-config.js";
import { parseLimit } from "./format.js";
import { takeSession } from "./sessions.js";

const kinds = [
  ["challenge", "Passwords and certificates"], ["redirect", "Redirects"], ["response", "Answers, before their content"],
  ["cache", "Copies for the cache"], ["delayedRequest", "Transfers whose time has come"], ["bodyStream", "Bodies that a program streams"],
];

export const metadataHelp = "NAME=VALUE, one a line: texts of your own, for lists and programs.";

/** Opens the form; `created(session)` is called once it is there. */
export const openSessionForm = (created) => {
  const creations = new Creations();
  const type = select([["default", "Default: on disk"], ["ephemeral", "Ephemeral: in memory only"], ["background", "Background: goes on by itself"]], "default");
  const identifier = input({ maxlength: 255, placeholder: "nightly" });
  const named = field("Identifier", identifier, { pointer: "/identifier", help: "The name by which programs find it again." });
  const description = input({ maxlength: 1024 });
  const limit = input({ placeholder: "none, or 2 MiB/s" });
  const boxes = kinds.map(([key, label]) => [key, input({ type: "checkbox", checked: key === "challenge" }), label]);
  const timeout = input({ type: "number", min: 1, placeholder: "60" });
  const metadata = area({ rows: 2, placeholder: "project=apollo" });
  const { groups, read } = configurationFields();
  const content = [
    h("div.fields", field("Kind", type, { pointer: "/type" }), named, field("Description", description, { pointer: "/description" }),
      field("Limit of all its transfers", limit, { pointer: "/maximumBytesPerSecond" }),
      field("Metadata", metadata, { pointer: "/metadata", help: metadataHelp, wide: true })),
    group("Ask somebody about", ...boxes.map(([key, control, label]) => field(label, control, { pointer: `/delegate/handles/${key}` }))),
    group("For an answer", field("Seconds", timeout, { pointer: "/delegate/decisionTimeout", help: "Then the default is taken." })),
    h("details.options", h("summary", "Configuration"), groups, h("p.quiet", "A configuration never changes after this.")),
  ];
  const showKind = () => {
    named.hidden = type.value !== "background";
    for (const [key, control] of boxes) {
      control.disabled = type.value === "background" && key !== "challenge" && key !== "delayedRequest";
      if (control.disabled) control.checked = false;
    }
  };
  type.addEventListener("change", showKind);
  showKind();
  const spec = () => {
    const made = { type: type.value, configuration: read() };
    if (type.value === "background") made.identifier = identifier.value.trim();
    if (description.value.trim()) made.description = description.value.trim();
    const bytes = reading("/maximumBytesPerSecond", () => parseLimit(limit.value));
    if (bytes) made.maximumBytesPerSecond = bytes;
    const texts = reading("/metadata", () => readMetadata(metadata.value));
    if (Object.keys(texts).length) made.metadata = texts;
    const handles = boxes.filter(([, control]) => control.checked).map(([key]) => key);
    if (handles.length || type.value === "background") {
      const seconds = valueOf(timeout, "/delegate/decisionTimeout");
      made.delegate = { handles, ...(seconds ? { decisionTimeout: Number(seconds) } : {}) };
    }
    return made;
  };
  formDialog("New session", "Create", content, async () => {
    const session = await creations.post("/v1/sessions", spec());
    takeSession(session);
    say("The session is there.");
    created(session);
  }, { wide: true });
  type.focus();
};
