// One question as a dialog over whatever the page shows.

import { dialog, h, icon } from "./dom.js";
import { decisions, offer, putAside, question, recheck } from "./decisions.js";
import { formOf } from "./decision-forms.js";

/** Shows it until it is answered, by whomever, or put aside. */
export const ask = (decision) => {
  const wide = decision.event.challenge?.protectionSpace.serverTrust != null;
  let unwatch = () => {};
  const { box, title, body, foot, show } = dialog(question(decision), { wide, onclose: () => {
    unwatch();
    // Who puts one aside wants no other one in its place.
    if (decisions.get(decision.id)) putAside();
    else offer();
  } });
  box.classList.add("decision");
  box.dataset.decision = decision.id;
  const { element, first, controls, left } = formOf(decision, { onanswer: () => box.close() });
  body.append(element);
  foot.append(h("p.deadline", icon("clock"), left), ...controls);
  unwatch = decisions.onChange(() => { if (!decisions.get(decision.id)) box.close(); });
  show();
  // Without a field nothing that could be pressed by mistake gets the focus.
  (first ?? title).focus();
  recheck(decision.id);
};
