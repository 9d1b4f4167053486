// What has happened to a task, one sentence for each event.

import { h, icon } from "./dom.js";
import { hostOf, limitWords, size, span, timeOfDay } from "./format.js";
import { shortError } from "./errors.js";

const changeWords = ({ state, waitingFor, priority, maximumBytesPerSecond, description, earliestBeginDate, suspendCount }) => {
  const words = [];
  if (state) words.push({ suspended: "Suspended", running: "Resumed", canceling: "Stopping" }[state]);
  else if (suspendCount !== undefined) words.push(`Suspended ${suspendCount} times over`);
  if (waitingFor) words.push(`Waits: ${waitingFor}`);
  if (priority !== undefined) words.push(`Priority ${priority}`);
  if (maximumBytesPerSecond !== undefined) words.push(limitWords(maximumBytesPerSecond));
  if (description !== undefined) words.push("Described anew");
  if (earliestBeginDate !== undefined) words.push("Begin date changed");
  return words.length ? ["clock", words.join(", ")] : null;
};

/** A drawing and words for an event; null for those that say nothing to a person. */
const wordsOf = (name, data) => {
  if (data.decision) return ["question", { challenge: "Asks who you are, or whether to trust the server", redirect: "Asks whether to follow a redirect",
    response: "Asks what to do with the answer", cache: "Asks whether to keep a copy", delayedRequest: "Asks whether to go on", bodyStream: "Waits for the body" }[data.decision.kind]];
  switch (name) {
    case "task.didCreate": return ["add", "Created"];
    case "task.didChange": return changeWords(data.changes);
    case "task.isWaitingForConnectivity": return ["clock", "No route; waits for one"];
    case "task.willPerformHTTPRedirection": return ["retry", `Redirected by ${data.response.status} to ${data.request.url}`];
    case "task.didReceiveInformationalResponse": return ["list", `Interim answer ${data.status}`];
    case "download.didResumeAtOffset": return ["play", `Goes on at ${size(data.fileOffset)}${data.expectedTotalBytes > 0 ? ` of ${size(data.expectedTotalBytes)}` : ""}`];
    case "task.willRetry": return ["retry", `Tries again in ${span(data.delay * 1000)} (attempt ${data.attempt}): ${data.reason}`];
    case "task.didReceiveResponse": return [data.response.status >= 400 ? "alert" : "check",
      `${hostOf(data.response.url)} answered ${data.response.status}${data.response.expectedContentLength >= 0 ? `, ${size(data.response.expectedContentLength)}` : ""}`];
    case "task.didBecomeDownloadTask": return ["down", "Goes on as a download"];
    case "download.didFinishDownloading": return ["down", data.destination?.path ? `Saved as ${data.destination.path}` : "All of it is here"];
    case "task.didComplete": return data.error ? ["alert", `${shortError(data.error)}: ${data.error.message}`] : ["check", "Done"];
    default: return null;
  }
};

const line = (name, data) => {
  const words = wordsOf(name, data);
  return words && h("li", { "data-event": name }, icon(words[0]), h("span", words[1]), h("time", { datetime: data.at }, timeOfDay(data.at)));
};

export class Timeline {
  /** How often the task's own stream and the page's have told of an event: both tell of all that is new. */
  #told = [new Map(), new Map()];
  /** What the page's stream told while the task's was read: that comes first. */
  #held = [];

  constructor(id) {
    this.id = id;
    this.list = h("ol.timeline");
    this.element = h("div", this.list);
  }

  #add(name, data, [mine, other]) {
    const item = line(name, data);
    if (!item) return;
    // The streams number events differently. Two events may be the same in all else, so they are counted.
    const key = JSON.stringify([name, data]);
    const number = (mine.get(key) ?? 0) + 1;
    mine.set(key, number);
    if (number > (other.get(key) ?? 0)) this.list.append(item);
  }

  /** Reads what has been so far, and lets go of the connection: the page follows one stream only. */
  async load(signal) {
    const control = new AbortController();
    signal.addEventListener("abort", () => control.abort());
    let quiet = setTimeout(() => control.abort(), 3000);
    try {
      const answer = await fetch(`/v1/tasks/${this.id}/events?replay=all`, { signal: control.signal, cache: "no-store" });
      if (answer.status === 204) return;
      if (!answer.ok) throw new Error(`status ${answer.status}`);
      const newest = number(answer.headers.get("Ferry-Last-Event-ID"));
      const reader = answer.body.getReader();
      const decoder = new TextDecoder();
      let rest = "";
      for (;;) {
        const { value, done } = await reader.read();
        if (done) return;
        rest += decoder.decode(value, { stream: true });
        const pieces = rest.split("\n\n");
        rest = pieces.pop();
        for (const piece of pieces) if (this.#read(piece) >= newest) return;
        // A pause after the first pieces: what follows is live, and comes by the page's own stream.
        clearTimeout(quiet);
        quiet = setTimeout(() => control.abort(), 400);
      }
    } catch (error) {
      if (error.name !== "AbortError") this.list.append(h("li", icon("alert"), h("span", "What was before could not be loaded.")));
    } finally {
      clearTimeout(quiet);
      control.abort();
      const held = this.#held;
      this.#held = null;
      for (const event of held) this.hear(event);
      if (!this.list.children.length && !signal.aborted) this.element.append(h("p.quiet", "Its events are too old to be kept."));
    }
  }

  #read(piece) {
    const member = (name) => piece.split("\n").find((text) => text.startsWith(`${name}: `))?.slice(name.length + 2);
    const id = member("id");
    const data = member("data");
    if (!id || !data) return 0;
    this.#add(member("event"), JSON.parse(data), this.#told);
    return number(id);
  }

  /** Takes what the page's stream tells. */
  hear(event) {
    if (this.#held) this.#held.push(event);
    else this.#add(event.name, event.data, [...this.#told].reverse());
  }
}

const number = (id) => Number(id?.split(".").at(-1) ?? 0);
