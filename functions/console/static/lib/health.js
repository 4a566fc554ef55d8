/** Whether the services behind the page answer: asked now and then, and at once after a failure. */

import { createStore } from "./store.js";

/**
 * @typedef {object} Health
 * @property {boolean} reachable whether the API answered at all
 * @property {boolean} restate
 * @property {boolean} runStore
 */

export const health = createStore(/** @type {Health} */ ({ reachable: true, restate: true, runStore: true }));

let asking = false;

/** Asks `/readyz`. An answer that is none of its own, as an authorizer's 401, says nothing of the services. */
export async function checkHealth() {
  if (asking) return;
  asking = true;
  try {
    const answer = await fetch("/readyz", { signal: AbortSignal.timeout(10_000) });
    const { checks } = await answer.json().catch(() => ({}));
    set({ reachable: true, restate: checks?.restate ?? true, runStore: checks?.runStore ?? true });
  } catch {
    set({ ...health.get(), reachable: false });
  }
  asking = false;
}

/** After something was read: what was away may be back, and that is said at once. */
export function recheckHealth() {
  if (Object.values(health.get()).includes(false)) checkHealth();
}

/** @param {Health} found */
function set(found) {
  const known = health.get();
  const same =
    found.reachable === known.reachable && found.restate === known.restate && found.runStore === known.runStore;
  if (!same) health.set(found);
}
