// The keyboard's focus, over what is drawn anew.

/** What an element is known by when it is drawn again: where it leads, or what it is called. */
const keyOf = (element) => element.getAttribute("href") ?? element.getAttribute("aria-label") ?? element.labels?.[0]?.textContent ?? element.textContent;

/** Draws a place anew; what takes the place of the element that had the focus has it then, or else the heading. */
export const keepingFocus = (place, draw) => {
  const { activeElement: active } = document;
  const key = active !== place && place.contains(active) ? keyOf(active) : null;
  draw();
  if (key === null) return;
  const alike = [...place.querySelectorAll(active.tagName)];
  const next = alike.find((one) => keyOf(one) === key) ?? (alike.length === 1 ? alike[0] : place.querySelector("h2"));
  next?.focus({ preventScroll: true });
};

/** Whether somebody has chosen here what is shown next, and so goes on with it; else the focus stays where it is. */
export const isChosenIn = (split) => {
  const { activeElement: active } = document;
  // A link to a view gives the focus to the whole of it, where it scrolls.
  return active.contains(split) || (active.tagName !== "INPUT" && split.contains(active));
};

/** Goes to what is open now, or back to the entry of what was open before. */
export const goOn = (split, { isOpen, before }) => {
  const next = isOpen ? split.querySelector(".pane h2")
    : split.querySelector(`a.entry[href="${CSS.escape(before)}"]`) ?? split.querySelector(".side button");
  next?.focus({ preventScroll: true });
};
