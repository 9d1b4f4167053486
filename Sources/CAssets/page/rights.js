// Whether the token of this page may manage the gateway. The view for that is shown to nobody else.

import { get } from "./api.js";

const retryInterval = 3000;
const listeners = new Set();
let mayManage = false;
let timer = null;

export const rights = {
  get mayManage() { return mayManage; },
  onChange: (listener) => listeners.add(listener),
};

/** Asks the gateway, until it answers: what only administrators may look at tells. */
export const learnRights = async () => {
  clearTimeout(timer);
  let answer = true;
  try { await get("/v1/gateway"); } catch (error) {
    if (error.status !== 403) { timer = setTimeout(learnRights, retryInterval); return; }
    answer = false;
  }
  if (answer === mayManage) return;
  mayManage = answer;
  for (const listener of listeners) listener();
};
