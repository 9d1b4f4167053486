// A look at what a task has fetched: text and pictures. Nothing in it ever runs.

import { h, icon } from "./dom.js";
import { request } from "./api.js";
import { size } from "./format.js";

const textLimit = 64 << 10;
const pictureLimit = 20 << 20;

const isText = (type) => /^text\/|[/+](json|xml|yaml|javascript|x-sh|toml|csv)\b/.test(type);
const isPicture = (type) => /^image\/(png|jpeg|gif|webp|avif|bmp|svg\+xml|x-icon|vnd\.microsoft\.icon)\b/.test(type);

/** What can be shown of a complete content. */
export const preview = async (task, signal) => {
  const type = task.response?.mimeType ?? "";
  const length = task.content.length;
  if (length === 0) return h("p.quiet", "It is empty.");
  if (isPicture(type)) {
    if (length > pictureLimit) return h("p.quiet", "The picture is too large for a preview.");
    const picture = h("img", { src: task.content.href, alt: `Preview of ${task.response.suggestedFilename}`, loading: "lazy" });
    picture.addEventListener("error", () => picture.replaceWith(h("p.quiet", "The browser cannot show this picture.")));
    return h("figure.picture", picture);
  }
  if (!isText(type)) return h("p.quiet", `There is no preview of ${type || "content of an unknown type"}.`);
  const answer = await request("GET", task.content.href, { headers: { Range: `bytes=0-${textLimit - 1}` }, signal });
  const decoder = new TextDecoder(labelOf(task.response.textEncodingName));
  const text = decoder.decode(new Uint8Array(await answer.arrayBuffer()).subarray(0, textLimit), { stream: true });
  return h("div", h("pre.preview", { tabindex: "0", "aria-label": "Preview" }, document.createTextNode(text)),
    length > textLimit && h("p.quiet", `The first ${size(textLimit)} of ${size(length)}.`));
};

const labelOf = (name) => {
  try { return new TextDecoder(name ?? "utf-8").encoding; } catch { return "utf-8"; }
};

/** A link that saves the content. */
export const saveLink = (task, name) => h("a.button.primary", { href: task.content.href, download: name, "aria-label": `Save ${name}` },
  icon("down"), h("span", "Save"));
