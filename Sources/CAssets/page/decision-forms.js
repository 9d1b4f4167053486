// What is asked, and the buttons that answer it. The same in the dialog and in the list.

import { h, icon } from "./dom.js";
import { answer, decisions, question, taskName } from "./decisions.js";
import { chain, verdict } from "./decision-trust.js";
import { duration, hostOf, size } from "./format.js";
import { base64 } from "./bytes.js";
import { sessions, sessionName } from "./sessions.js";

let number = 0;

const field = (label, control, help) => {
  control.id ||= `answer-${++number}`;
  return h("p.field", h("label", { for: control.id }, label), control, help && h("span.help", help));
};

/** `{body, act, primary}`: what is shown, and the buttons, of which the first is the safe one. */
const parts = {
  password(decision) {
    const { challenge } = decision.event;
    const space = challenge.protectionSpace;
    const user = h("input", { name: "user", autocomplete: "username", autocapitalize: "none", spellcheck: "false",
      value: challenge.proposedCredential?.user ?? "" });
    const password = h("input", { name: "password", type: "password", autocomplete: "current-password" });
    const keep = persistence(decision, "forSession");
    return {
      body: [
        h("p", space.realm ? `It calls this area “${space.realm}”.` : "It names no area."),
        challenge.previousFailureCount > 0 && h("p.fault", "The last user and password were refused."),
        !space.receivesCredentialSecurely && h("p.warning", icon("alert"), "The password would go over the network unprotected."),
        field("User", user), field("Password", password), field("Remember it", keep),
      ],
      first: user,
      buttons: [
        ["Go on without", () => ({ disposition: "useCredential", credential: null })],
        ["Cancel the transfer", () => ({ disposition: "cancelAuthenticationChallenge" })],
        ["Sign in", () => ({ disposition: "useCredential",
          credential: { user: user.value, password: password.value, persistence: keep.value } })],
      ],
    };
  },

  trust(decision) {
    const space = decision.event.challenge.protectionSpace;
    const trust = space.serverTrust;
    const accept = () => ({ disposition: "useCredential", credential: { serverTrust: trust.certificates[0].fingerprint } });
    const ok = trust.evaluation.trusted;
    return {
      body: [h(ok ? "p" : "p.warning", icon(ok ? "check" : "alert"), verdict(trust, space.host)), chain(trust, space.host),
        !ok && h("p.quiet", "Compare the SHA-256 with one that you have from the server's operator by another way. "
          + "Trust then holds for this session and this certificate only.")],
      buttons: ok
        ? [["Cancel the transfer", () => ({ disposition: "cancelAuthenticationChallenge" })], ["Go on", accept]]
        : [["Trust this certificate", accept, "danger"], ["Cancel the transfer", () => ({ disposition: "cancelAuthenticationChallenge" })]],
    };
  },

  certificate(decision) {
    const names = decision.event.challenge.protectionSpace.distinguishedNames;
    const file = h("input", { type: "file", accept: ".p12,.pfx,.pem,.crt", required: true });
    const key = h("input", { type: "file", accept: ".key,.pem" });
    const passphrase = h("input", { type: "password", autocomplete: "off" });
    const keep = persistence(decision, "forSession");
    return {
      body: [
        h("p", "The server wants to know who you are by a certificate with its private key."),
        names.length > 0 && h("p.quiet", `It accepts certificates of: ${names.join("; ")}`),
        field("Certificate", file, "A .p12 or .pfx file, or PEM."), field("Private key", key, "Only where the PEM file has none; without a passphrase."),
        field("Passphrase of a .p12 file", passphrase), field("Remember it", keep),
      ],
      first: file,
      buttons: [
        ["Go on without", () => ({ disposition: "useCredential", credential: null })],
        ["Cancel the transfer", () => ({ disposition: "cancelAuthenticationChallenge" })],
        ["Use it", async () => ({ disposition: "useCredential",
          credential: { certificate: await identity(file.files[0], key.files[0], passphrase.value), persistence: keep.value } })],
      ],
    };
  },

  redirect(decision) {
    const { response, request } = decision.event;
    const leaves = hostOf(response.url) !== hostOf(request.url);
    const isPlain = response.url.startsWith("https:") && request.url.startsWith("http:");
    return {
      body: [
        h("dl.hop", h("dt", "From"), h("dd", response.url), h("dt", `${response.status} to`), h("dd", request.url)),
        leaves && h("p", `The new place is another host: ${hostOf(request.url)}.`),
        isPlain && h("p.warning", icon("alert"), "It leaves https: what is sent could be read and changed on the way."),
      ],
      buttons: [["Stop here", () => ({ disposition: "stop" })], ["Follow", () => ({ disposition: "follow" })]],
    };
  },

  response(decision) {
    const { response } = decision.event;
    return {
      body: [h("dl.facts",
        h("dt", "Answer"), h("dd", String(response.status)), h("dt", "Type"), h("dd", response.mimeType ?? "not told"),
        h("dt", "Size"), h("dd", size(response.expectedContentLength)), h("dt", "Name"), h("dd", response.suggestedFilename))],
      buttons: [
        ["Cancel the transfer", () => ({ disposition: "cancel" })], ["Save it as a download", () => ({ disposition: "becomeDownload" })],
        ["Go on", () => ({ disposition: "allow" })],
      ],
    };
  },

  cache(decision) {
    const policy = h("select", ["allowed", "allowedInMemoryOnly"].map((value) => h("option", {
      value, selected: value === decision.event.storagePolicy }, value === "allowed" ? "In memory and on disk" : "In memory only")));
    return {
      body: [h("p", `The answer of ${hostOf(decision.event.response.url)} could be kept for later requests.`), field("Where", policy)],
      buttons: [["Do not keep it", () => ({ disposition: "refuse" })], ["Keep it", () => ({ disposition: "store", storagePolicy: policy.value })]],
    };
  },

  delayedRequest(decision) {
    return {
      body: [h("p", "The transfer was put off until now."), h("p.url", decision.event.request.url)],
      buttons: [["Cancel the transfer", () => ({ disposition: "cancel" })], ["Go on", () => ({ disposition: "continue" })]],
    };
  },

  other(decision) {
    const method = decision.event.challenge?.protectionSpace.authenticationMethod ?? decision.kind;
    return {
      body: [h("p", `The server asks by ${method.replace("NSURLAuthenticationMethod", "")}, which this page cannot answer with a password.`)],
      buttons: [["Cancel the transfer", () => ({ disposition: "cancelAuthenticationChallenge" })],
        ["Try another way", () => ({ disposition: "rejectProtectionSpace" })],
        ["Let the gateway handle it", () => ({ disposition: "performDefaultHandling" })]],
    };
  },
};

const kindOf = (decision) => {
  const method = decision.event.challenge?.protectionSpace.authenticationMethod;
  if (!method) return parts[decision.kind] ? decision.kind : "other";
  if (method.endsWith("ServerTrust")) return "trust";
  if (method.endsWith("ClientCertificate")) return "certificate";
  return /(HTTPBasic|HTTPDigest|NTLM)$/.test(method) ? "password" : "other";
};

const persistence = (decision, value) => {
  const isEphemeral = sessions.get(decision.session)?.type === "ephemeral";
  return h("select", [["none", "For this transfer"], ["forSession", "For the session, until the gateway stops"],
    ["permanent", "For the session, sealed on disk"]].filter(([key]) => !isEphemeral || key !== "permanent")
    .map(([key, label]) => h("option", { value: key, selected: key === value }, label)));
};

const identity = async (file, keyFile, passphrase) => {
  const bytes = new Uint8Array(await file.arrayBuffer());
  const text = new TextDecoder().decode(bytes);
  if (!text.includes("-----BEGIN")) return { pkcs12: base64(bytes), passphrase };
  return { pem: text, key: keyFile ? await keyFile.text() : text };
};

/** `{element, first, controls, left}`: what is asked, its first field if it has any, the answers, and the time left. */
export const formOf = (decision, { onanswer } = {}) => {
  const { body, first, buttons } = parts[kindOf(decision)](decision);
  const fault = h("p.fault", { role: "alert" });
  const left = h("span.countdown");
  const session = sessions.get(decision.session);
  const element = h("form.question", { novalidate: true },
    h("p.asker", taskName(decision), session && h("span.quiet", ` · ${sessionName(session)}`)), body, fault);
  let isBusy = false;
  const send = async (make) => {
    if (isBusy) return;
    isBusy = true;
    fault.textContent = "";
    try {
      await answer(decision, await make());
      onanswer?.();
    } catch (error) {
      fault.textContent = error.message;
      element.querySelector("input")?.focus();
    } finally { isBusy = false; }
  };
  const primary = buttons.at(-1);
  element.addEventListener("submit", (event) => {
    event.preventDefault();
    const missing = [...element.querySelectorAll("[required]")].find((control) => !control.value);
    if (missing) { fault.textContent = `${missing.closest(".field").querySelector("label").textContent} is missing.`; missing.focus(); return; }
    send(primary[1]);
  });
  const controls = buttons.map(([words, make, tone], index) => {
    const isPrimary = index === buttons.length - 1;
    const control = h(`button${isPrimary ? ".primary" : tone ? `.${tone}` : ""}`, { type: "button",
      "aria-label": `${words}: ${question(decision)}`, onclick: () => (isPrimary ? element.requestSubmit() : send(make)) }, words);
    return control;
  });
  const tick = () => {
    // A suspension or a restart of the gateway puts the deadline off.
    const { deadline } = decisions.get(decision.id) ?? decision;
    const seconds = (Date.parse(deadline) - Date.now()) / 1000;
    left.textContent = seconds > 0 ? `${duration(seconds)} left` : "Time is over";
    left.classList.toggle("bad", seconds < 15);
  };
  tick();
  const timer = setInterval(() => { if (left.isConnected || element.isConnected) tick(); else clearInterval(timer); }, 1000);
  // Enter in a field answers as the first button of the row would.
  element.append(h("button.hidden", { tabindex: "-1", "aria-hidden": "true" }, "Answer"));
  return { element, first, controls, left };
};
