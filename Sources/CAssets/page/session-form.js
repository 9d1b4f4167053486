// A new session: every property, its default shown.

import { dialog, h, say } from "./dom.js";
import { call, onceKey } from "./api.js";
import { clearFaults, field, group, input, select, showFault } from "./form.js";
import { configurationFields } from "./session-config.js";
import { parseSize } from "./format.js";
import { takeSession } from "./sessions.js";

const kinds = [
  ["challenge", "Passwords and certificates"], ["redirect", "Redirects"], ["response", "Answers, before their content"],
  ["cache", "Copies for the cache"], ["delayedRequest", "Transfers whose time has come"], ["bodyStream", "Bodies that a program streams"],
];

/** Opens the form; `created(session)` is called once it is there. */
export const openSessionForm = (created) => {
  const { box, body, foot, show } = dialog("New session", { wide: true });
  const type = select([["default", "Default: on disk"], ["ephemeral", "Ephemeral: in memory only"], ["background", "Background: goes on by itself"]], "default");
  const identifier = input({ maxlength: 255, placeholder: "nightly" });
  const named = field("Identifier", identifier, { pointer: "/identifier", help: "The name by which programs find it again." });
  const description = input({ maxlength: 1024 });
  const limit = input({ placeholder: "none, or 2 MB/s" });
  const boxes = kinds.map(([key, label]) => [key, input({ type: "checkbox", checked: key === "challenge" }), label]);
  const timeout = input({ type: "number", min: 1, placeholder: "60" });
  const { groups, read } = configurationFields();
  const general = h("p.fault", { role: "alert" });
  const form = h("form", { novalidate: true },
    h("div.fields", field("Kind", type, { pointer: "/type" }), named, field("Description", description, { pointer: "/description" }),
      field("Limit of all its transfers", limit, { pointer: "/maximumBytesPerSecond" })),
    group("Ask somebody about", ...boxes.map(([key, control, label]) => field(label, control, { pointer: `/delegate/handles/${key}` }))),
    group("For an answer", field("Seconds", timeout, { pointer: "/delegate/decisionTimeout", help: "Then the default is taken." })),
    h("details.options", h("summary", "Configuration"), groups, h("p.quiet", "A configuration never changes after this.")), general);
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
    if (limit.value.trim()) {
      made.maximumBytesPerSecond = parseSize(limit.value);
      if (!made.maximumBytesPerSecond) throw Object.assign(new Error("Write it like 500 kB/s or 2 MB/s."), { pointer: "/maximumBytesPerSecond" });
    }
    const handles = boxes.filter(([, control]) => control.checked).map(([key]) => key);
    if (handles.length || type.value === "background") {
      made.delegate = { handles, ...(timeout.value ? { decisionTimeout: Number(timeout.value) } : {}) };
    }
    return made;
  };
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    clearFaults(form);
    try {
      const session = await call("POST", "/v1/sessions", { body: spec(), headers: { "Idempotency-Key": onceKey() } });
      takeSession(session);
      box.close();
      say("The session is there.");
      created(session);
    } catch (error) {
      if (!showFault(form, error.pointer, error.message)) general.textContent = error.message;
    }
  });
  form.append(h("button.hidden", { tabindex: "-1", "aria-hidden": "true" }, "Create"));
  body.append(form);
  foot.append(h("button", { type: "button", onclick: () => box.close() }, "Cancel"),
    h("button.primary", { type: "button", onclick: () => form.requestSubmit() }, "Create"));
  show();
  type.focus();
};
