/** Something that is read from the API, shown, and read again. */

import { checkHealth } from "./health.js";
import { usePolling } from "./polling.js";
import { useRef, useState } from "./view.js";

/**
 * @template T
 * @typedef {object} Resource
 * @property {T | null} data the last that was read, also after a later failure
 * @property {import("./api.js").ApiError | null} error of the last try
 * @property {string | null} readAt
 * @property {() => Promise<void>} refresh
 */

/**
 * @template T
 * @param {(signal: AbortSignal) => Promise<T>} load
 * @param {unknown[]} key forgets what was read when it changes
 * @param {{interval?: number, active?: (data: T | null) => boolean, initial?: T | null}} [options]
 *   `initial` is shown until the first answer
 * @returns {Resource<T>}
 */
export function useResource(load, key, { interval = 60_000, active = () => true, initial = null } = {}) {
  const [, render] = useState(/** @type {unknown} */ (null));
  const held = useRef(/** @type {{key: string, data: T | null, error: any, readAt: string | null, asked: number, shown: number}} */ (empty("")));
  const name = JSON.stringify(key);
  if (held.current.key !== name) held.current = { ...empty(name), data: initial };
  const current = held.current;

  const run = async (/** @type {AbortSignal} */ signal) => {
    const turn = ++current.asked;
    /** Whether nothing that was asked for later is shown already: answers may overtake each other. */
    const isNews = () => {
      const news = turn > current.shown;
      if (news) current.shown = turn;
      return news;
    };
    try {
      const found = await load(signal);
      if (!isNews()) return;
      current.data = found;
      current.error = null;
      current.readAt = new Date().toISOString();
    } catch (error) {
      if (signal.aborted || !isNews()) return;
      current.error = error;
      checkHealth();
      throw error;
    } finally {
      if (held.current === current) render({});
    }
  };
  usePolling(run, interval, [name], { active: current.data === null || active(current.data) });
  const { data, error, readAt } = current;
  return { data, error, readAt, refresh: () => run(new AbortController().signal).catch(() => {}) };
}

/** @param {string} key */
const empty = (key) => ({ key, data: null, error: null, readAt: null, asked: 0, shown: 0 });
