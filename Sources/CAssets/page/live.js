// What happens at the gateway, for whoever in the page wants to know.

import { Feed } from "./feed.js";

const listeners = new Set();
const states = new Set();
let port = null;
let feed = null;
let isOpen = null;
let restTimer = null;

/** `{name, data}` of every event, in order, in pieces of about an eighth of a second. */
export const onEvents = (listener) => listeners.add(listener);

/** "open" (with whether older events are missing), "cut" or "signedOut". */
export const onState = (listener) => states.add(listener);

export const isConnected = () => isOpen === true;

const hear = (message) => {
  if (message.kind === "events") {
    for (const listener of listeners) listener(message);
    return;
  }
  isOpen = message.kind === "open";
  for (const listener of states) listener(message);
};

/** Begins to listen, or tries again at once. */
export const listen = () => {
  if (port) port.postMessage("listen");
  else if (feed) feed.start();
  else if (window.SharedWorker) join();
  else followAlone();
};

const join = () => {
  const worker = new SharedWorker("/page/feed-worker.js", { type: "module", name: "ferry" });
  worker.onerror = () => { port = null; followAlone(); };
  port = worker.port;
  port.onmessage = ({ data }) => hear(data);
  port.postMessage("listen");
};

/** Without a shared worker a hidden tab gives its connection back after a while. */
const followAlone = () => {
  feed ??= new Feed(hear);
  feed.start();
  document.addEventListener("visibilitychange", () => {
    clearTimeout(restTimer);
    if (document.hidden) restTimer = setTimeout(() => feed.stop(), 30_000);
    else feed.start();
  });
};

addEventListener("pagehide", () => port?.postMessage("leave"));
addEventListener("pageshow", (event) => { if (event.persisted) listen(); });
