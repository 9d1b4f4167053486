// Calls of the gateway. A cookie that has ended is signed in anew, and the call made again.

/** What the gateway has refused, or why it could not be asked. */
export class Refusal extends Error {
  constructor(status, problem) {
    super(sentence(status, problem));
    this.status = status;
    this.code = problem.code ?? "";
    this.pointer = problem.pointer ?? null;
    this.problem = problem;
  }
}

const sentence = (status, problem) => {
  if (problem.detail) return problem.detail;
  if (problem.title) return `${problem.title}.`;
  return status ? `The gateway answered ${status}.` : "The gateway does not answer. Is it still running?";
};

/** Set by the sign-in panel: resolves once there is a good cookie again. */
export const access = { renew: null };

/**
 * One call. `body` is sent as JSON, `bytes` as they are. A 401 shows the sign-in panel and then goes
 * on, so that nothing that was typed is lost; `quietly` throws it instead.
 */
export const request = async (method, path, { body, bytes, headers = {}, signal, quietly = false } = {}) => {
  const options = { method, headers: { ...headers }, signal, cache: "no-store", body: bytes };
  if (body !== undefined) {
    options.headers["Content-Type"] = "application/json";
    options.body = JSON.stringify(body);
  }
  let answer;
  try {
    answer = await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refusal(0, {});
  }
  if (answer.status === 401 && !quietly && access.renew) {
    await access.renew();
    return request(method, path, { body, bytes, headers, signal, quietly: true });
  }
  if (answer.ok || answer.status === 304) return answer;
  const problem = await answer.json().catch(() => ({}));
  throw new Refusal(answer.status, problem);
};

/** One call, and what its answer says; null where it says nothing. An answer that breaks off counts as none. */
export const call = async (method, path, options) => {
  const answer = await request(method, path, options);
  try {
    const text = await answer.text();
    return text ? JSON.parse(text) : null;
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refusal(0, {});
  }
};

export const get = (path, options) => call("GET", path, options);
export const post = (path, body, options) => call("POST", path, { body, ...options });
export const patch = (path, body) => call("PATCH", path, { body });
export const remove = (path) => call("DELETE", path);

/** All items of a list, page after page. */
export const all = async (path, member, limit = Infinity) => {
  const items = [];
  let cursor = null;
  do {
    const address = new URL(path, location.origin);
    if (cursor) address.searchParams.set("cursor", cursor);
    const page = await get(address.pathname + address.search);
    items.push(...page[member]);
    cursor = page.nextCursor;
  } while (cursor && items.length < limit);
  return items;
};

/** Whether nothing has been done for sure. An answer that was lost, or that a failing server gave, leaves it open. */
export const isRefused = (error) => error instanceof Refusal && error.status >= 400 && error.status < 500;

/**
 * Creates things once, however often that is asked for and however many answers are lost: the same request bears the
 * same key until the gateway has answered it. One for each form, so that a new form creates anew.
 */
export class Creations {
  #keys = new Map();

  /** POSTs; a lost answer is asked for once more by itself. */
  async post(path, body, options = {}) {
    const mark = `${path} ${JSON.stringify(body ?? options.headers ?? null)}`;
    const key = this.#keys.get(mark) ?? randomKey();
    this.#keys.set(mark, key);
    const send = () => call("POST", path, { ...options, body, headers: { ...options.headers, "Idempotency-Key": key } });
    try {
      const made = await send().catch((error) => {
        if (error.status !== 0) throw error;
        return send();
      });
      this.#keys.delete(mark);
      return made;
    } catch (error) {
      if (isRefused(error)) this.#keys.delete(mark);
      throw error;
    }
  }
}

const randomKey = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
  byte.toString(16).padStart(2, "0")).join("");

/** Does `work` for all items, a few at a time. */
export const each = async (items, work, width = 4) => {
  const queue = [...items];
  const results = [];
  await Promise.all(Array.from({ length: Math.min(width, queue.length) }, async () => {
    while (queue.length) results.push(await work(queue.shift()));
  }));
  return results;
};
