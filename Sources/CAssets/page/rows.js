// A task as the list keeps it: little enough that a hundred thousand fit into a page.

import { hostOf, nameOf, visible } from "./format.js";
import { shortError } from "./errors.js";

/** The members of a task that a row is made of. */
export const fields = [
  "id", "session", "type", "state", "waitingFor", "nextAttemptAt", "priority", "description", "fileName", "createdAt",
  "startedAt", "completedAt", "maximumBytesPerSecond", "originalRequest", "response", "countOfBytesReceived",
  "countOfBytesExpectedToReceive", "countOfBytesSent", "countOfBytesExpectedToSend", "content", "error",
].join(",");

const waits = {
  connectivity: "Waits for a network", decision: "Asks you", bodyStream: "Waits for its body",
  slot: "Queued", beginDate: "Scheduled", retry: "Tries again", room: "Waits for room",
  quietTime: "Waits for a quiet time",
};

export class Row {
  /** Counted up with every change that shows. */
  version = 0;
  /** Whether the gateway may know more than events have told. */
  isStale = false;
  /** Which event was the last that it has had, by the count of `tasks.js`. */
  heardAt = 0;
  /** Bytes a second, smoothed; what was there before is not counted. */
  #speed = 0;
  #lastAt = 0;
  #lastBytes = -1;

  constructor(task) { this.id = task.id; this.merge(task); }

  /** Takes over what the gateway shows of the task. Nothing comes back once it is over: then that is an older answer. */
  merge(task) {
    if (this.state === "completed" && task.state !== "completed") return;
    this.session = task.session;
    this.type = task.type;
    this.state = task.state;
    this.waitingFor = task.waitingFor;
    this.nextAttemptAt = task.nextAttemptAt;
    this.priority = task.priority;
    this.description = task.description ?? "";
    this.fileName = task.fileName;
    this.limit = task.maximumBytesPerSecond;
    this.createdAt = task.createdAt;
    this.startedAt = task.startedAt;
    this.completedAt = task.completedAt;
    this.url = task.originalRequest.url;
    this.host = hostOf(this.url);
    this.status = task.response?.status ?? null;
    this.name = visible(task.fileName || (this.status < 400 && task.response?.suggestedFilename) || "") || nameOf(this.url);
    this.received = task.countOfBytesReceived;
    this.expected = task.countOfBytesExpectedToReceive;
    this.sent = task.countOfBytesSent;
    this.expectedToSend = task.countOfBytesExpectedToSend;
    this.hasContent = task.content !== null;
    this.length = task.content?.length ?? -1;
    this.error = task.error && { name: task.error.name, code: task.error.code, message: task.error.message };
    this.isStale = false;
    if (this.state !== "running") this.#lastBytes = -1;
    this.version += 1;
  }

  /** Takes over the members that `task.didChange` tells. */
  change(changes) {
    const isOver = this.state === "completed";
    for (const name of isOver ? ["priority"] : ["state", "waitingFor", "nextAttemptAt", "priority", "startedAt"]) {
      if (name in changes) this[name] = changes[name];
    }
    if ("description" in changes) this.description = changes.description ?? "";
    if ("maximumBytesPerSecond" in changes) this.limit = changes.maximumBytesPerSecond;
    if (this.state !== "running" || this.waitingFor) this.#lastBytes = -1;
    this.version += 1;
  }

  respond(response) {
    this.status = response.status;
    if (!this.fileName && response.status < 400) this.name = visible(response.suggestedFilename || "") || this.name;
    if (response.expectedContentLength >= 0 && this.received <= 0) this.expected = response.expectedContentLength;
    this.waitingFor = null;
    this.version += 1;
  }

  complete(error, at) {
    this.state = "completed";
    this.waitingFor = null;
    this.nextAttemptAt = null;
    this.completedAt = at;
    this.error = error && { name: error.name, code: error.code, message: error.message };
    this.isStale = true;
    this.#lastBytes = -1;
    this.version += 1;
  }

  /** Notes how far one of the two directions has come; gives the bytes since the last time. */
  progress(name, data, now) {
    const isUp = name === "task.didSendBodyData";
    const total = isUp ? data.totalBytesSent : data.totalBytesWritten ?? data.offset + data.length;
    if (isUp) {
      this.sent = total;
      this.expectedToSend = data.totalBytesExpectedToSend ?? this.expectedToSend;
    } else {
      this.received = total;
      this.expected = data.totalBytesExpectedToWrite ?? this.expected;
    }
    if (this.waitingFor === "slot") this.waitingFor = null;
    const moved = Math.max(0, this.received) + Math.max(0, this.sent);
    const since = (now - this.#lastAt) / 1000;
    let fresh = 0;
    if (this.#lastBytes >= 0 && moved >= this.#lastBytes && since < 10) {
      fresh = moved - this.#lastBytes;
      const weight = 1 - Math.exp(-since / 2.5);
      if (since > 0) this.#speed += weight * (fresh / since - this.#speed);
    } else {
      this.#speed = 0;
    }
    this.#lastBytes = moved;
    this.#lastAt = now;
    this.version += 1;
    return fresh;
  }

  speed(now) {
    return this.state === "running" && this.#lastBytes >= 0 && now - this.#lastAt < 5000 ? this.#speed : 0;
  }

  get isUpload() { return this.type === "upload"; }
  get done() { return this.isUpload ? this.sent : this.received; }
  get whole() {
    if (this.isUpload) return this.expectedToSend;
    return this.expected >= 0 ? this.expected : this.length;
  }

  /** What its size is told as, in bytes; negative where nobody knows. */
  get size() { return this.state !== "completed" && this.whole >= 0 ? this.whole : this.done; }

  /** 0 to 1; null where nobody knows. */
  get part() {
    if (this.kind === "done") return 1;
    if (this.kind === "refused") return null;
    return this.whole > 0 && this.done >= 0 ? Math.min(1, this.done / this.whole) : null;
  }

  secondsLeft(now) {
    const speed = this.speed(now);
    return speed > 0 && this.whole > 0 ? (this.whole - this.done) / speed : NaN;
  }

  /** What the list sorts and colours by: done, refused, failed, cancelled, paused, asks, waits, running, ending. */
  get kind() {
    if (this.state === "completed") {
      if (this.error) return this.error.name === "cancelled" ? "cancelled" : "failed";
      return this.status >= 400 ? "refused" : "done";
    }
    if (this.state === "suspended") return "paused";
    if (this.state === "canceling") return "ending";
    if (this.waitingFor === "decision") return "asks";
    return this.waitingFor ? "waits" : "running";
  }

  /** The state in words. */
  get words() {
    switch (this.kind) {
      case "done": return "Done";
      case "refused": return `Answered ${this.status}`;
      case "failed": return shortError(this.error);
      case "cancelled": return "Cancelled";
      case "paused": return this.startedAt ? "Suspended" : "Not started";
      case "ending": return "Stopping";
      case "running": return this.isUpload && this.status === null ? "Uploading" : "Running";
      default: return waits[this.waitingFor] ?? this.waitingFor;
    }
  }

  /** Which tab it stands under, beside "all". */
  get group() {
    switch (this.kind) {
      case "done": return "done";
      case "refused": case "failed": return "failed";
      case "cancelled": return "cancelled";
      case "asks": return "asks";
      default: return "active";
    }
  }

  matches(text) {
    return this.url.toLowerCase().includes(text) || this.name.toLowerCase().includes(text)
      || this.description.toLowerCase().includes(text);
  }
}
