/** Values that several components watch. */

import { useEffect, useState } from "./view.js";

/**
 * @template T
 * @typedef {object} Store
 * @property {() => T} get
 * @property {(value: T) => void} set Does nothing for the value it has.
 * @property {(watcher: () => void) => () => void} watch Returns what ends the watching.
 */

/**
 * @template T
 * @param {T} value
 * @returns {Store<T>}
 */
export function createStore(value) {
  /** @type {Set<() => void>} */
  const watchers = new Set();
  return {
    get: () => value,
    set(next) {
      if (Object.is(next, value)) return;
      value = next;
      for (const watcher of [...watchers]) watcher();
    },
    watch(watcher) {
      watchers.add(watcher);
      return () => void watchers.delete(watcher);
    },
  };
}

/**
 * The store's value; the component renders again when it changes.
 * @template T
 * @param {Store<T>} store
 * @returns {T}
 */
export function useStore(store) {
  const [, render] = useState(/** @type {unknown} */ (null));
  useEffect(() => {
    let seen = store.get();
    const update = () => {
      if (Object.is(seen, store.get())) return;
      seen = store.get();
      render({});
    };
    update();
    return store.watch(update);
  }, [store]);
  return store.get();
}
