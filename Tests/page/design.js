// What a person with weak eyes, or without a mouse, would find wrong with what is in sight now.

const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });

/** Any colour of CSS as four numbers, by way of a pixel. */
const numbers = (colour) => {
  canvas.clearRect(0, 0, 1, 1);
  canvas.fillStyle = colour;
  canvas.fillRect(0, 0, 1, 1);
  const [red, green, blue, alpha] = canvas.getImageData(0, 0, 1, 1).data;
  return [red, green, blue, alpha / 255];
};

const over = (front, back) => [0, 1, 2].map((one) => front[one] * front[3] + back[one] * (1 - front[3]));

const backgroundOf = (element) => {
  const layers = [];
  for (let one = element; one; one = one.parentElement) {
    const layer = numbers(getComputedStyle(one).backgroundColor);
    if (layer[3] > 0) layers.push(layer);
    if (layer[3] === 1) break;
  }
  return layers.reverse().reduce((back, layer) => over(layer, back), [255, 255, 255]);
};

const luminance = (colour) => colour.slice(0, 3).map((value) => value / 255)
  .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4))
  .reduce((sum, value, index) => sum + value * [0.2126, 0.7152, 0.0722][index], 0);

const contrast = (a, b) => {
  const [light, dark] = [luminance(a), luminance(b)].sort((one, other) => other - one);
  return (light + 0.05) / (dark + 0.05);
};

const isSeen = (element) => element.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true }) && !element.closest(".hidden")
  && element.getClientRects().length > 0;

const faint = () => {
  const found = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !isSeen(element) || element.closest(":disabled, noscript, script")) continue;
    // What lies under a dialog is not read.
    const top = [...document.querySelectorAll("dialog[open]")].at(-1);
    if (top && !top.contains(element)) continue;
    const style = getComputedStyle(element);
    const size = Number.parseFloat(style.fontSize);
    const needed = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
    const back = backgroundOf(element);
    const ratio = contrast(over(numbers(style.color), back), back);
    if (ratio < needed) found.add(`${walker.currentNode.data.trim().slice(0, 40)}: ${ratio.toFixed(2)}`);
  }
  return [...found];
};

const nameOf = (element) => (element.getAttribute("aria-label") || element.getAttribute("aria-labelledby")?.split(" ")
  .map((id) => document.getElementById(id)?.textContent ?? "").join(" ") || [...element.labels ?? []].map((label) => label.textContent).join(" ")
  || element.textContent || element.title || "").trim();

const nameless = () => [...document.querySelectorAll("button, a[href], input, select, textarea, summary, [role=progressbar], [role=img], [role=grid], dialog[open], img, nav, aside")]
  .filter((element) => isSeen(element) && element.type !== "hidden" && element.getAttribute("aria-hidden") !== "true")
  .filter((element) => (element.tagName === "IMG" ? !element.hasAttribute("alt") : !nameOf(element)))
  .map((element) => element.outerHTML.slice(0, 120));

/** Buttons of lines must tell which line. */
const alike = () => {
  const seen = new Map();
  for (const element of document.querySelectorAll(".rows > .row:not([hidden]) :is(button, a, input)")) {
    if (!isSeen(element)) continue;
    const name = nameOf(element);
    const line = element.closest(".row").querySelector(".name").textContent;
    if (!name.includes(line)) seen.set(name, line);
  }
  return [...seen].map(([name, line]) => `“${name}” in the line of ${line}`);
};

const twice = () => {
  const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
  return ids.filter((id, index) => ids.indexOf(id) !== index);
};

const wide = () => {
  const root = document.documentElement;
  const found = root.scrollWidth > innerWidth ? [`the page is ${root.scrollWidth} px wide`] : [];
  for (const box of document.querySelectorAll("main > section:not([hidden]), .pane, .side, .detail-body, .dialog-body, .scroller")) {
    if (isSeen(box) && box.scrollWidth > box.clientWidth + 1) found.push(`${box.className || box.id} is ${box.scrollWidth} px in ${box.clientWidth}`);
  }
  return found;
};

return { faint: faint(), nameless: nameless(), alike: alike(), twice: twice(), wide: wide() };
