// A file to the gateway's staging area, in pieces, going on after any cut.

import { call, onceKey, request, Refusal } from "./api.js";

const pieceLength = 8 << 20;
const tries = 8;

const pause = (milliseconds) => new Promise((resolve) => { setTimeout(resolve, milliseconds); });

/** Where the upload stands at the gateway. */
const offsetOf = async (path, signal) => {
  const answer = await request("HEAD", path, { signal });
  return { offset: Number(answer.headers.get("Upload-Offset")), isComplete: answer.headers.get("Upload-Complete") === "?1" };
};

/**
 * Sends the file; `progress(bytes)` tells how much is there for good. Gives the id of the staged file.
 * A cut is waited out and gone on from: only what the gateway has not yet is sent again.
 */
export const stage = async (file, { progress, signal }) => {
  const created = await call("POST", "/v1/files", {
    headers: { "Upload-Complete": "?0", "Upload-Length": String(file.size), "Idempotency-Key": onceKey(),
      ...(file.type ? { "Content-Type": file.type } : {}) },
    bytes: new Blob([]), signal });
  const path = `/v1/files/${created.id}`;
  let offset = 0;
  let failures = 0;
  for (;;) {
    const end = Math.min(file.size, offset + pieceLength);
    try {
      await request("PATCH", path, {
        headers: { "Upload-Offset": String(offset), "Upload-Complete": end === file.size ? "?1" : "?0",
          "Content-Type": "application/partial-upload" },
        bytes: file.slice(offset, end), signal });
      offset = end;
      failures = 0;
      progress(offset);
      if (offset === file.size) return created.id;
    } catch (error) {
      failures += 1;
      const mayPass = error instanceof Refusal && (error.status === 0 || error.status === 409 || error.status >= 500);
      if (!mayPass || failures > tries) throw error;
      await pause(Math.min(8000, 300 * 2 ** failures));
      try {
        const state = await offsetOf(path, signal);
        if (state.isComplete) { progress(file.size); return created.id; }
        offset = state.offset;
        progress(offset);
      } catch (again) {
        if (again.status !== 0) throw again;
      }
    }
  }
};

export const discard = (id) => call("DELETE", `/v1/files/${id}`).catch(() => {});
