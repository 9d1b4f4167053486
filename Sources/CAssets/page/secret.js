// A secret that the gateway shows once.

import { button, dialog, h, icon, say } from "./dom.js";

/** Shows it with a button that copies it; it is not closed by one key before it was copied. */
export const secretDialog = (heading, words, secret) => {
  let isCopied = false;
  const { box, body, foot, show } = dialog(heading, { mayLose: () => !isCopied,
    loss: ["Close it without a copy?", "Nobody can look at it again: it would have to be made anew.", "Close"] });
  const code = h("code.secret-text", secret);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(secret);
      isCopied = true;
      say("Copied.");
    } catch {
      getSelection().selectAllChildren(code);
      say("Selected: copy it with your keyboard.");
    }
  };
  body.append(h("p.warning", icon("alert"), h("span", words)), h("pre.secret-box", code));
  const copier = button("primary", null, "Copy", { onclick: copy });
  foot.append(copier, button("", null, "I have it", { onclick: () => box.close() }));
  show();
  copier.focus();
};
