// A file to the gateway's staging area, in pieces, going on after any cut.

import { call, Creations, isRefused, request, Refusal } from "./api.js";

const pieceLength = 8 << 20;
const tries = 8;

const pause = (milliseconds) => new Promise((resolve) => { setTimeout(resolve, milliseconds); });

/**
 * One file on its way to the gateway. What has arrived stays there: after an error `send` goes on from it, and a file
 * that is whole is not sent again, until it is given up.
 */
export class Staging {
  #creations = new Creations();
  #path = null;
  #isWhole = false;
  #control = new AbortController();
  /** Whether a task may have it, though no answer has said so: then it is the task's, and not given up. */
  mayBeUsed = false;

  constructor(file) { this.file = file; }

  /** Brings it to the gateway; `progress(bytes)` tells how much is there for good. Gives its id. */
  async send(progress) {
    if (!this.#path) await this.#create();
    let isKnown = false;
    let offset = 0;
    for (let failures = 0; !this.#isWhole;) {
      try {
        if (!isKnown) offset = await this.#offset();
        isKnown = true;
        progress(offset);
        if (!this.#isWhole) offset = await this.#append(offset);
        failures = 0;
      } catch (error) {
        failures += 1;
        isKnown = false;
        const mayPass = error instanceof Refusal && (error.status === 0 || error.status === 409 || error.status >= 500);
        if (error.status === 404 || error.status === 410) this.#path = null;
        if (!mayPass || failures > tries) throw error;
        await this.#check(offset);
        await pause(Math.min(8000, 300 * 2 ** failures));
      }
    }
    progress(this.file.size);
    return this.#path.split("/").at(-1);
  }

  /** A request whose body cannot be read fails like one that finds no network: throws where it is the file. */
  async #check(offset) {
    try { await this.file.slice(offset, offset + 1).arrayBuffer(); } catch {
      throw new Error(`${this.file.name} cannot be read: it is a folder, or has changed since it was chosen. Choose it again.`);
    }
  }

  async #create() {
    const { type, size } = this.file;
    const made = await this.#creations.post("/v1/files", undefined, {
      headers: { "Upload-Complete": "?0", "Upload-Length": String(size), ...(type ? { "Content-Type": type } : {}) }, bytes: new Blob([]) });
    this.#path = `/v1/files/${made.id}`;
    // It may have been given up while the answer was on its way.
    if (this.#control.signal.aborted) this.giveUp();
    this.#control.signal.throwIfAborted();
  }

  /** Where it stands at the gateway. */
  async #offset() {
    const answer = await request("HEAD", this.#path, { signal: this.#control.signal });
    this.#isWhole = answer.headers.get("Upload-Complete") === "?1";
    return Number(answer.headers.get("Upload-Offset"));
  }

  async #append(offset) {
    const end = Math.min(this.file.size, offset + pieceLength);
    await request("PATCH", this.#path, {
      headers: { "Upload-Offset": String(offset), "Upload-Complete": end === this.file.size ? "?1" : "?0",
        "Content-Type": "application/partial-upload" },
      bytes: this.file.slice(offset, end), signal: this.#control.signal });
    this.#isWhole = end === this.file.size;
    return end;
  }

  /** The gateway has it no longer, as it says. */
  #forget() {
    this.#path = null;
    this.#isWhole = false;
  }

  /** Ends it, and takes back what the gateway has of it. What cannot be taken back now ends by itself after some time. */
  giveUp() {
    this.#control.abort();
    if (this.#path && !this.mayBeUsed) call("DELETE", this.#path, { quietly: true }).catch(() => {});
  }

  /** Sends the task that is to have it; nothing is made twice, however often that is tried. */
  async use(path, spec) {
    const before = this.mayBeUsed;
    this.mayBeUsed = true;
    try {
      return await this.#creations.post(path, spec);
    } catch (error) {
      if (isRefused(error)) {
        this.mayBeUsed = before;
        if (error.pointer?.startsWith("/body")) this.#forget();
      }
      throw error;
    }
  }
}
