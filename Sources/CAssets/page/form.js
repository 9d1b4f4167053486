// Fields of forms, with the gateway's faults at the field that they are about.

import { dialog, h } from "./dom.js";

let number = 0;

/** A labelled field; `pointer` is the place in the JSON that the gateway names in a refusal. */
export const field = (label, control, { help, pointer, wide } = {}) => {
  control.id ||= `field-${++number}`;
  const fault = h("span.fault", { id: `${control.id}-fault`, role: "alert" });
  const text = help && h("span.help", { id: `${control.id}-help` }, help);
  control.setAttribute("aria-describedby", `${text ? `${control.id}-help ` : ""}${control.id}-fault`);
  const isBox = control.type === "checkbox";
  return h(`div.field${wide ? ".wide" : ""}${isBox ? ".box" : ""}`, { "data-pointer": pointer },
    isBox ? h("label", { for: control.id }, control, h("span", label)) : [h("label", { for: control.id }, label), control], fault, text);
};

export const input = (attributes = {}) => h("input", { autocomplete: "off", spellcheck: "false", ...attributes });

export const select = (options, value, attributes = {}) => h("select", attributes, options.map((option) => {
  const [key, label] = Array.isArray(option) ? option : [option, option];
  return h("option", { value: key, selected: String(key) === String(value) }, label);
}));

export const area = (attributes = {}) => h("textarea", { spellcheck: "false", autocomplete: "off", ...attributes });

export const group = (heading, ...fields) => h("fieldset", h("legend", heading),
  h(`div.fields${fields.some((one) => !one.classList.contains("box")) ? "" : ".boxes"}`, fields));

/** Takes all faults off a form. */
export const clearFaults = (form) => {
  for (const fault of form.querySelectorAll(".fault")) fault.textContent = "";
  for (const control of form.querySelectorAll("[aria-invalid]")) control.removeAttribute("aria-invalid");
};

/** Puts a fault at the field whose pointer is nearest; false where there is none. */
export const showFault = (form, pointer, words) => {
  let path = pointer ?? "";
  while (path) {
    const place = [...form.querySelectorAll("[data-pointer]")].find((one) => one.dataset.pointer === path);
    if (place) {
      place.querySelector(".fault").textContent = words;
      const control = place.querySelector("input, select, textarea");
      control?.setAttribute("aria-invalid", "true");
      for (let fold = place.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
      control?.focus();
      // The words below it are to be seen too.
      place.scrollIntoView({ block: "nearest" });
      return true;
    }
    path = path.slice(0, path.lastIndexOf("/"));
  }
  return false;
};

/** What a person has to mend before the gateway is asked. */
export class Invalid extends Error {
  constructor(pointer, words) { super(words); this.pointer = pointer; }
}

/** What `read` makes of a field; what it throws becomes a fault of the field. */
export const reading = (pointer, read) => {
  try { return read(); } catch (error) { throw new Invalid(pointer, error.message); }
};

/** The text of a field; a number or a date that the browser could not read is a fault, not nothing. */
export const valueOf = (control, pointer) => {
  if (control.validity.badInput) throw new Invalid(pointer, control.type === "number" ? "This is no number." : "This is not complete.");
  return control.value.trim();
};

/** Shows what was refused at its field, or else in `general`. */
export const showRefusal = (form, general, error) => {
  if (!showFault(form, error.pointer, error.message)) general.textContent = error.message;
};

/**
 * A form in a dialog. `send()` may throw a refusal, which is shown at its field; it is not called again before it is
 * over. Gives `{box, form}`, in sight.
 */
export const formDialog = (heading, action, content, send, { wide = false } = {}) => {
  const { box, body, foot, show } = dialog(heading, { wide });
  const general = h("p.fault", { role: "alert" });
  const submit = h("button.primary", { type: "button", onclick: () => form.requestSubmit() }, action);
  // Enter in a field presses the first button of its form.
  const form = h("form", { novalidate: true }, content, general, h("button.hidden", { tabindex: "-1", "aria-hidden": "true" }, action));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (submit.disabled) return;
    clearFaults(form);
    general.textContent = "";
    submit.disabled = true;
    try {
      await send();
      box.close();
    } catch (error) { showRefusal(form, general, error); } finally { submit.disabled = false; }
  });
  body.append(form);
  foot.append(h("button", { type: "button", onclick: () => box.close() }, "Cancel"), submit);
  show();
  return { box, form };
};

/** Lines of a name, a mark and a value, as pairs; throws the line that is none. */
const readPairs = (text, mark, example) => text.split(/\r?\n/).filter((line) => line.trim()).map((line) => {
  const place = line.indexOf(mark);
  if (place < 1 || !line.slice(0, place).trim()) throw new Error(`“${line.trim()}” is not “${example}”.`);
  return [line.slice(0, place).trim(), line.slice(place + 1).trim()];
});

/** "Name: value" lines as an object; a name that comes again has a list of values. */
export const readHeaders = (text) => {
  // Without the names that every object has: they are names of headers like others.
  const headers = Object.create(null);
  for (const [name, value] of readPairs(text, ":", "Name: value")) headers[name] = name in headers ? [headers[name], value].flat() : value;
  return headers;
};

/** "NAME=VALUE" lines as an object. */
export const readMetadata = (text) => {
  const metadata = Object.create(null);
  for (const [name, value] of readPairs(text, "=", "NAME=VALUE")) {
    if (name in metadata) throw new Error(`“${name}” stands there twice.`);
    metadata[name] = value;
  }
  return metadata;
};

export const writeMetadata = (metadata) => Object.entries(metadata).map(([name, value]) => `${name}=${value}`).join("\n");

export const writeHeaders = (headers) => Object.entries(headers ?? {})
  .flatMap(([name, value]) => [value].flat().map((one) => `${name}: ${one}`)).join("\n");
