// One event stream for all tabs of a browser: it would run out of connections otherwise.

import { Feed } from "./feed.js";

const ports = new Set();
const feed = new Feed((message) => { for (const port of ports) port.postMessage(message); });

self.onconnect = ({ ports: [port] }) => {
  port.onmessage = ({ data }) => {
    if (data === "leave") {
      ports.delete(port);
      return;
    }
    const isNew = !ports.has(port);
    ports.add(port);
    feed.start();
    // What came before is not known to a tab that has just opened.
    if (isNew) port.postMessage({ ...feed.state, fresh: true });
  };
};
