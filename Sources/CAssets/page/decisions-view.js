// All questions that wait, one card each.

import { h, icon } from "./dom.js";
import { decisions, question, ready } from "./decisions.js";
import { noteSwitch } from "./notes.js";
import { formOf } from "./decision-forms.js";

let place = null;
const cards = new Map();

const draw = () => {
  if (!place) return;
  const waiting = decisions.all();
  for (const [id, card] of cards) {
    if (waiting.some((decision) => decision.id === id)) continue;
    card.remove();
    cards.delete(id);
  }
  for (const decision of waiting) {
    if (cards.has(decision.id)) continue;
    const { element, controls, left } = formOf(decision);
    const title = h("h2", { id: `question-${decision.id}` }, question(decision));
    const card = h("article.card.ask", { id: decision.id, "aria-labelledby": title.id }, h("header", icon("question"), title),
      element, h("footer", h("p.deadline", icon("clock"), left), controls));
    cards.set(decision.id, card);
    place.list.append(card);
  }
  place.empty.hidden = waiting.length > 0;
};

export const show = async (section, id) => {
  if (!place) {
    place = {
      list: h("div.cards"), notes: h("div"),
      empty: h("div.note", icon("check", "large"), h("h2", "Nothing asks"),
        h("p", "A transfer whose session asks its delegate waits here for you: a password, a server's certificate, a redirect, an answer to look at. "
          + "Create such a session under ", h("a", { href: "#sessions" }, "Sessions"), ".")),
    };
    section.append(h("div.page-head", h("h1", "Decisions"), place.notes), place.list, place.empty);
    decisions.onChange(draw);
  }
  place.notes.replaceChildren(noteSwitch());
  draw();
  // Nobody may be told that nothing asks before that is known.
  place.empty.hidden = true;
  await ready();
  draw();
  if (id) cards.get(id)?.scrollIntoView();
};
