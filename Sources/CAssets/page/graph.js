// Lines of speed over time.

import { h } from "./dom.js";
import { rate } from "./format.js";

const space = "http://www.w3.org/2000/svg";

const svg = (name, attributes) => {
  const element = document.createElementNS(space, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
};

/** A scale that ends at 1, 2 or 5 of something: it does not jump with every value. */
export const ceiling = (values) => {
  let most = 1024;
  for (const value of values) if (value > most) most = value;
  const unit = 1024 ** Math.floor(Math.log(most) / Math.log(1024));
  const tens = 10 ** Math.floor(Math.log10(most / unit));
  // A thousand of a unit is one of the next.
  return [1, 2, 5, tens === 100 ? 10.24 : 10].map((step) => step * tens * unit).find((step) => step >= most) ?? most;
};

/** The line of what is known. */
const pathOf = (values, top, height) => {
  let line = "";
  for (let place = 0; place < values.length; place += 1) {
    if (Number.isNaN(values[place])) continue;
    const y = height - (values[place] / top) * height;
    line += `${line ? "L" : "M"}${place} ${y.toFixed(1)}`;
  }
  return line;
};

const drawing = (values, top, height, label) => {
  const picture = svg("svg", { viewBox: `0 -1 ${values.length - 1} ${height + 2}`, preserveAspectRatio: "none", role: "img", "aria-label": label, class: "graph" });
  const line = pathOf(values, top, height);
  const begin = values.findIndex((value) => !Number.isNaN(value));
  if (begin < 0) return picture;
  picture.append(
    svg("path", { d: `${line}L${values.length - 1} ${height}L${begin} ${height}Z`, class: "graph-area" }),
    svg("path", { d: line, class: "graph-line", "vector-effect": "non-scaling-stroke" }));
  return picture;
};

/** A small one, without a scale. */
export const spark = (values, label) => h("div.spark", drawing(values, ceiling(values), 40, label));

/** A large one, with its scale and times. */
export const graph = (values, label) => {
  const top = ceiling(values);
  return h("div.chart", { role: "group", "aria-label": label },
    h("div.scale", h("span", rate(top)), h("span", rate(top / 2)), h("span", "0")),
    h("div.plot", drawing(values, top, 200, label)),
    h("div.times", h("span", "10 min ago"), h("span", "5 min"), h("span", "now")));
};
