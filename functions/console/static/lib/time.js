/** The time now, for what is shown relative to it: one clock for the whole page. */

import { createStore, useStore } from "./store.js";

const TICK = 5_000;
const TOLERATED = 30_000; // the header is a second coarse, and an answer takes its time

let ahead = 0; // of the service's clock

/**
 * Hears what time it is where the times that are shown come from. A browser's clock may be far off.
 * @param {string | null} header `Date` of an answer
 */
export function hearTime(header) {
  const difference = Date.parse(header ?? "") - Date.now();
  if (!Number.isNaN(difference)) ahead = Math.abs(difference) > TOLERATED ? difference : 0;
}

const clock = createStore(Date.now());

setInterval(() => {
  if (!document.hidden) clock.set(Date.now());
}, TICK);
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) clock.set(Date.now());
});

/** Milliseconds since 1970, renewed every five seconds. */
export function useNow() {
  useStore(clock);
  return Date.now() + ahead;
}
