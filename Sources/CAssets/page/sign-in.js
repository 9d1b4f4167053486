// The token for a cookie; over the page, so that nothing of it is lost.

import { access, request } from "./api.js";
import { h, icon, onEscape } from "./dom.js";
import { learnRights } from "./rights.js";

let waiting = null;

/** Takes a token out of the address (`ferry open` puts it there) before anybody sees it. */
const takeToken = () => {
  const match = /^#token=(fry_[0-9A-Za-z]+)/.exec(location.hash);
  if (!match) return null;
  history.replaceState(null, "", `${location.pathname}${location.search}#tasks`);
  return match[1];
};

const trade = (token) => request("POST", "/v1/browser-session", {
  headers: { Authorization: `Bearer ${token}` }, quietly: true });

/** Why it did not work, and how to mend it. */
const explain = (error) => {
  if (error.code === "unauthenticated") return "That is not the token of this gateway. Look whether the whole of it was copied.";
  if (error.status === 0) return "The gateway does not answer. Is it still running?";
  return error.message;
};

const panel = (reason, signedIn) => {
  const fault = h("p.fault", { id: "sign-in-fault", role: "alert" });
  const token = h("input", {
    name: "token", type: "password", autocomplete: "current-password", required: true, spellcheck: "false",
    autocapitalize: "none", id: "token", "aria-describedby": "token-help sign-in-fault", placeholder: "fry_…" });
  const submit = h("button.primary", "Sign in");
  const form = h("form", { id: "sign-in" },
    h("label", { for: "token" }, "Token of the gateway"),
    // A password manager keeps the token by this name.
    h("input.hidden", { type: "text", name: "user", autocomplete: "username", value: `ferry ${location.host}`, tabindex: "-1", "aria-hidden": "true" }),
    h("div.joined", token, submit), fault,
    h("div.help", { id: "token-help" },
      h("p", "It is in the gateway's data directory:"),
      h("pre", "cat ferry-data/token"),
      h("p", "In a container:"),
      h("pre", "docker exec CONTAINER cat /data/token"),
      h("p", "On the gateway's machine ", h("code", "ferry open"), " opens this page signed in.")));
  const box = h("dialog.sign-in", { "aria-labelledby": "sign-in-title" },
    icon("key", "large"), h("h2", { id: "sign-in-title" }, reason === "again" ? "Sign in again" : "Sign in to Ferry"),
    h("p", reason === "again"
      ? "The gateway has restarted, or an hour has passed. Everything here stays as it is, and goes on where it was."
      : "Ferry moves files over HTTP on behalf of programs and people."), form);
  onEscape(box, () => {});
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    submit.disabled = true;
    fault.textContent = "";
    try {
      await trade(token.value.trim());
      box.remove();
      signedIn();
    } catch (error) {
      fault.textContent = explain(error);
      token.setAttribute("aria-invalid", "true");
      token.focus();
    } finally {
      submit.disabled = false;
    }
  });
  document.body.append(box);
  // Nothing but a cookie ends it, however the browser would have it closed.
  box.addEventListener("close", () => { if (box.isConnected && waiting) box.showModal(); });
  box.showModal();
  token.focus();
  // Another tab may have signed in meanwhile: the cookie is everybody's.
  const look = setInterval(async () => {
    if (!box.isConnected) { clearInterval(look); return; }
    if (document.hidden || token.value) return;
    if (await isSignedIn()) { box.remove(); signedIn(); }
  }, 3000);
};

/** Whether the cookie is good; a gateway that does not answer counts as such. */
const isSignedIn = async () => {
  try {
    await request("GET", "/v1/tasks?limit=1", { quietly: true });
    return true;
  } catch (error) { return error.status !== 401; }
};

/** Shows the panel once, however many calls want it; resolves when there is a cookie. */
const renew = (reason = "again") => {
  waiting ??= new Promise((resolve) => panel(reason, () => { waiting = null; resolve(); learnRights(); }));
  return waiting;
};

/** Signs in by the token in the address, by the cookie that there is, or by asking. */
export const signIn = async () => {
  access.renew = renew;
  const token = takeToken();
  if (token) {
    try { await trade(token); return; } catch { /* The panel asks, and says what is wrong. */ }
  }
  if (!await isSignedIn()) await renew("first");
};

export const signInAgain = () => renew("again");
export const isSigningIn = () => waiting !== null;

// `ferry open` in a browser that has the page already.
addEventListener("hashchange", async () => {
  const token = takeToken();
  if (token) { await trade(token).catch(() => {}); location.reload(); }
});

/** Ends the cookie at the gateway; tells whether it is really gone. */
export const signOut = async () => {
  try {
    await request("DELETE", "/v1/browser-session", { quietly: true });
  } catch (error) {
    if (error.status !== 401) throw error;
  }
};
