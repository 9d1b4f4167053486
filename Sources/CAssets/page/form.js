// Fields of forms, with the gateway's faults at the field that they are about.

import { h } from "./dom.js";

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
      return true;
    }
    path = path.slice(0, path.lastIndexOf("/"));
  }
  return false;
};

/** "Name: value" lines as an object; throws the line that is none. */
export const readHeaders = (text) => {
  const headers = {};
  for (const line of text.split(/\r?\n/)) {
    if (!line.trim()) continue;
    const colon = line.indexOf(":");
    if (colon < 1) throw new Error(`“${line.trim()}” is not “Name: value”.`);
    const name = line.slice(0, colon).trim();
    const value = line.slice(colon + 1).trim();
    headers[name] = name in headers ? [headers[name], value].flat() : value;
  }
  return headers;
};

export const writeHeaders = (headers) => Object.entries(headers ?? {})
  .flatMap(([name, value]) => [value].flat().map((one) => `${name}: ${one}`)).join("\n");
