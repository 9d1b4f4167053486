// The gateway's event stream, read by fetch: it shows the status of an answer, which an EventSource
// hides, and can go on after a 401. Runs in the page, or in a worker that all tabs share.

const longestSilence = 40_000;
const longestPause = 5_000;
const flushInterval = 120;

/**
 * Follows all events of the tenant, over every cut, without a gap. `tell` is called with
 * `{kind: "open", fresh}`, `{kind: "cut", status}`, `{kind: "signedOut"}` or `{kind: "events", events, progress}`;
 * `fresh` tells that what was before is not known. Of progress only the newest for each task is told.
 */
export class Feed {
  #tell;
  #lastID = null;
  #running = false;
  #control = null;
  #wake = null;
  /** The status with which the gateway refuses the stream. */
  #refusal = null;
  #events = [];
  #progress = new Map();
  #flush = null;
  state = { kind: "cut" };

  constructor(tell) { this.#tell = tell; }

  /** Begins, goes on, or does not wait any longer for the next try. */
  start() {
    // Whoever asks has a cookie again, and is told if it is not good.
    if (this.state.kind === "signedOut") this.state = { kind: "cut" };
    this.#wake?.();
    if (!this.#running) { this.#running = true; this.#run(); }
  }

  /** Rests; `start` goes on behind the last event. */
  stop() {
    this.#running = false;
    this.#control?.abort();
    this.#wake?.();
  }

  #become(state) { this.state = state; this.#tell(state); }

  async #run() {
    let pause = 500;
    while (this.#running) {
      const outcome = await this.#follow();
      if (!this.#running) return;
      if (outcome === "signedOut") {
        if (this.state.kind !== "signedOut") this.#become({ kind: "signedOut" });
        await new Promise((resolve) => { this.#wake = resolve; });
        pause = 500;
        continue;
      }
      if (this.state.kind !== "cut" || this.state.status !== this.#refusal) this.#become({ kind: "cut", status: this.#refusal });
      if (outcome === "ended") pause = 500;
      await new Promise((resolve) => { this.#wake = resolve; setTimeout(resolve, pause * (0.7 + Math.random() * 0.6)); });
      pause = Math.min(pause * 2, longestPause);
    }
  }

  /** One connection, to its end: "ended", "failed" or "signedOut". */
  async #follow() {
    const control = this.#control = new AbortController();
    this.#refusal = null;
    let silence = setTimeout(() => control.abort(), longestSilence);
    try {
      const answer = await fetch("/v1/events", {
        headers: this.#lastID ? { "Last-Event-ID": this.#lastID } : {}, signal: control.signal, cache: "no-store",
      });
      if (answer.status === 401) return "signedOut";
      this.#refusal = answer.ok ? null : answer.status;
      if (!answer.ok || !answer.body) return "failed";
      const fresh = !this.#lastID;
      this.#lastID ??= answer.headers.get("Ferry-Last-Event-ID");
      this.#become({ kind: "open", fresh });
      const reader = answer.body.getReader();
      const decoder = new TextDecoder();
      let rest = "";
      for (;;) {
        const { value, done } = await reader.read();
        if (done) return "ended";
        clearTimeout(silence);
        silence = setTimeout(() => control.abort(), longestSilence);
        rest = this.#take(rest + decoder.decode(value, { stream: true }));
      }
    } catch {
      return "failed";
    } finally {
      clearTimeout(silence);
      control.abort();
    }
  }

  /** Reads the whole events of a text; gives back what is not whole yet. */
  #take(text) {
    let from = 0;
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n", from)) {
      let name = "", data = "", id = null;
      for (const line of text.slice(from, end).split("\n")) {
        if (line.startsWith("event: ")) name = line.slice(7);
        else if (line.startsWith("data: ")) data = line.slice(6);
        else if (line.startsWith("id: ")) id = line.slice(4);
      }
      from = end + 2;
      if (id) this.#lastID = id;
      if (name) this.#note(name, JSON.parse(data), id);
    }
    return text.slice(from);
  }

  #note(name, data, id) {
    if (id) this.#events.push({ name, data, id });
    else this.#progress.set(`${data.task} ${name}`, { name, data });
    this.#flush ??= setTimeout(() => {
      this.#flush = null;
      const message = { kind: "events", progress: [...this.#progress.values()], events: this.#events };
      this.#progress.clear();
      this.#events = [];
      this.#tell(message);
    }, flushInterval);
  }
}
