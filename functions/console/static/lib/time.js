/** The time now, for what is shown relative to it: one clock for the whole page. */

import { createStore, useStore } from "./store.js";

const TICK = 5_000;

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
  return Date.now();
}
