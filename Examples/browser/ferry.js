// A client of Ferry for browsers, and for node 18 or newer: fetch and ReadableStream, nothing else.
//
//   const ferry = new Ferry({ token });                      // or: await ferry.signIn(token)
//   const file = await ferry.download(url, { askPassword, onProgress });
//
// In a browser the page must come from the gateway's own origin (README.md): Ferry allows no other one.

/** A refusal of the gateway: an answer of 400 or more (RFC 9457). */
export class Refusal extends Error {
  constructor(status, problem) {
    super(problem.detail || problem.title || `status ${status}`);
    this.status = status;
    this.code = problem.code;
  }
}

/** A transfer that did not end as it should. */
export class TransferFailed extends Error {}

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

export class Ferry {
  #base;
  #token;

  /** Without a token, requests carry the cookie of signIn(). The token is kept in memory only. */
  constructor({ base = "", token = null } = {}) {
    this.#base = base;
    this.#token = token;
  }

  /** Exchanges a token for a cookie that no script can read, good for an hour. */
  async signIn(token) {
    await this.#request("POST", "/v1/browser-session", { headers: { Authorization: `Bearer ${token}` } });
    this.#token = null;
  }

  /** One request; an answer of 400 or more is thrown as a Refusal. */
  async #request(method, path, { body, headers = {}, signal } = {}) {
    if (this.#token) headers = { Authorization: `Bearer ${this.#token}`, ...headers };
    if (body !== undefined) headers = { "Content-Type": "application/json", ...headers };
    const answer = await fetch(this.#base + path, {
      method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body),
    });
    if (answer.ok) return answer;
    throw new Refusal(answer.status, await answer.json().catch(() => ({})));
  }

  async #json(method, path, body) {
    return (await this.#request(method, path, { body })).json();
  }

  /** Every event of a stream as {name, data}, from its beginning. A cut is no end: the next connection
      goes on behind the last id. */
  async *events(path) {
    let [lastId, retry] = ["", 2000];
    for (;;) {
      const connection = new AbortController();
      // The gateway writes a comment every 15 seconds.
      let silence;
      const heard = () => {
        clearTimeout(silence);
        silence = setTimeout(() => connection.abort(), 45000);
      };
      try {
        heard();
        const headers = { Accept: "text/event-stream", ...(lastId && { "Last-Event-ID": lastId }) };
        const answer = await this.#request("GET", lastId ? path : `${path}?replay=all`, {
          headers, signal: connection.signal,
        });
        if (answer.status === 204) return;
        const [reader, decoder] = [answer.body.getReader(), new TextDecoder()];
        let text = "";
        for (;;) {
          const { done, value } = await reader.read();
          if (done) break;
          heard();
          text += decoder.decode(value, { stream: true });
          const blocks = text.split("\n\n");
          text = blocks.pop();
          for (const block of blocks) {
            const event = { name: "message", data: "" };
            for (const line of block.split("\n")) {
              const [, field, content] = /^([^:]*):? ?(.*)$/.exec(line);
              if (field === "id") lastId = content;
              if (field === "event") event.name = content;
              if (field === "data") event.data += content;
              if (field === "retry") retry = Number(content);
            }
            if (event.data) yield { name: event.name, data: JSON.parse(event.data) };
          }
        }
      } catch (error) {
        if (error instanceof Refusal && error.status < 500) throw error;
        if (error instanceof SyntaxError) throw error;
      } finally {
        clearTimeout(silence);
        connection.abort();
      }
      await pause(retry);
    }
  }

  /**
   * Downloads a URL. `askPassword(protectionSpace, failures)` gives {user, password}, or null to go on
   * without; `onProgress(bytes, total)` gets -1 for a total that is not known.
   *
   * The result has the task's `id`, the file's `name`, its `href` at the gateway, `content()`, a
   * Response with the bytes, and `forget()`, which deletes it there.
   */
  async download(url, { askPassword = async () => null, onProgress = () => {} } = {}) {
    const delegate = { handles: ["challenge"], decisionTimeout: 600 };
    const session = await this.#json("POST", "/v1/sessions", { type: "default", delegate });
    const path = `/v1/sessions/${session.id}`;
    try {
      const { id } = await this.#json("POST", `${path}/tasks`, {
        type: "download", resume: true, request: { url },
      });
      await this.#follow(path, id, askPassword, onProgress);
      const task = await this.#json("GET", `/v1/tasks/${id}`);
      if (task.error) throw new TransferFailed(`${task.error.name}: ${task.error.message}`);
      if (task.response.status >= 400) throw new TransferFailed(`the server answered ${task.response.status}`);
      const href = `/v1/tasks/${id}/content`;
      return {
        id, name: task.response.suggestedFilename ?? "download", href,
        content: () => this.#request("GET", href),
        forget: () => this.#request("DELETE", `/v1/tasks/${id}`),
      };
    } finally {
      await this.#request("POST", `${path}/invalidate`, { body: { mode: "cancelTasks" } });
    }
  }

  async #follow(session, task, askPassword, onProgress) {
    for await (const { name, data } of this.events(`${session}/events`)) {
      if (data.decision) {
        await this.#answer(data.decision.id, data.challenge, askPassword);
      } else if (name === "download.didWriteData") {
        onProgress(data.totalBytesWritten, data.totalBytesExpectedToWrite);
      } else if (name === "reset") {
        // Events were lost: ask what they would have told.
        const { decisions } = await this.#json("GET", `${session}/decisions`);
        for (const pending of decisions) {
          await this.#answer(pending.id, pending.event.challenge, askPassword);
        }
        if ((await this.#json("GET", `/v1/tasks/${task}`)).state === "completed") return;
      } else if (name === "task.didComplete") {
        return;
      }
    }
  }

  async #answer(decision, challenge, askPassword) {
    try {
      const reply = await answerTo(challenge, askPassword);
      await this.#request("POST", `/v1/decisions/${decision}`, { body: reply });
    } catch (error) {
      // Somebody else has answered, or it is too late.
      if (!(error instanceof Refusal && [409, 410].includes(error.status))) throw error;
    }
  }
}

async function answerTo({ protectionSpace, previousFailureCount }, askPassword) {
  const method = protectionSpace.authenticationMethod.replace("NSURLAuthenticationMethod", "");
  if (["ServerTrust", "ClientCertificate"].includes(method)) {
    return { disposition: "performDefaultHandling" };
  }
  // On to what the server offers beside it.
  if (!["HTTPBasic", "HTTPDigest", "NTLM"].includes(method)) {
    return { disposition: "rejectProtectionSpace" };
  }
  const login = await askPassword(protectionSpace, previousFailureCount);
  // Without one the 401 becomes the response.
  if (!login) return { disposition: "performDefaultHandling" };
  const { user, password } = login;
  return { disposition: "useCredential", credential: { user, password, persistence: "none" } };
}
