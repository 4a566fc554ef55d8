/** Asking again and again, as long as somebody looks. */

import { useEffect, useRef } from "./view.js";

const LONGEST = 60_000;

/**
 * Runs `task` now and every `interval` milliseconds while the tab is visible. After a failure it waits twice as long,
 * up to a minute, so that a service that comes back is not met by every open page at once.
 * @param {(signal: AbortSignal) => Promise<void>} task rejects for a failure; always the latest one given is run
 * @param {number} interval
 * @param {unknown[]} key begins anew when it changes
 * @param {{active?: boolean, immediately?: boolean}} [options]
 */
export function usePolling(task, interval, key, { active = true, immediately = true } = {}) {
  const latest = useRef(task);
  latest.current = task;
  useEffect(() => {
    if (!active) return undefined;
    const ended = new AbortController();
    let wait = interval;
    /** @type {number | undefined} */
    let timer;
    let busy = false;

    const run = async () => {
      clearTimeout(timer);
      if (busy || document.hidden) return;
      busy = true;
      try {
        await latest.current(ended.signal);
        wait = interval;
      } catch {
        wait = Math.min(2 * wait, LONGEST);
      }
      busy = false;
      if (!ended.signal.aborted) timer = setTimeout(run, wait);
    };
    document.addEventListener("visibilitychange", run);
    if (immediately) run();
    else timer = setTimeout(run, wait);
    return () => {
      ended.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", run);
    };
  }, [interval, active, ...key]);
}
