/** A paged list in a component: read on first sight, kept fresh, and found again by the browser's back button. */

import { checkHealth } from "./health.js";
import { PagedList } from "./paged-list.js";
import { usePolling } from "./polling.js";
import { here } from "./router.js";
import { useRef, useState } from "./view.js";

const REMEMBERED = 8;
const INTERVAL = 5_000;
const AHEAD = 100; // rows that are left when the next page is read

/** Lists by name, the last used last. @type {Map<string, PagedList>} */
const remembered = new Map();

/**
 * @param {string} name what the list shows, its filters included
 * @param {() => PagedList} make
 */
export function usePagedList(name, make) {
  const [, render] = useState(/** @type {unknown} */ (null));
  const held = useRef(/** @type {{name: string, list: PagedList} | null} */ (null));
  const inSight = useRef({ from: 0, to: 0 });
  if (held.current?.name !== name) held.current = { name, list: listNamed(name, make) };
  const { list } = held.current;

  const shown = async (/** @type {Promise<void>} */ reading) => {
    try {
      await reading;
    } catch (error) {
      checkHealth();
      throw error;
    } finally {
      if (held.current?.list === list) render({});
    }
  };
  usePolling((signal) => shown(list.refresh(inSight.current.from, inSight.current.to, signal)), INTERVAL, [name]);

  return {
    list,
    /** Tells which rows are in sight, and reads on when they are the last ones. */
    onSight(/** @type {number} */ from, /** @type {number} */ to) {
      inSight.current = { from, to };
      if (to > list.rows.length - AHEAD && list.hasMore && list.error === null) shown(list.more()).catch(() => {});
    },
    again: () => void shown(list.loaded && list.hasMore ? list.more() : list.begin()).catch(() => {}),
    async showFresh() {
      await shown(list.begin()).catch(() => {});
      scrollTo({ top: 0 });
    },
  };
}

/**
 * @param {string} name
 * @param {() => PagedList} make
 */
function listNamed(name, make) {
  const known = here.get().restored ? remembered.get(name) : undefined;
  const list = known ?? make();
  remembered.delete(name);
  remembered.set(name, list);
  if (remembered.size > REMEMBERED) remembered.delete(/** @type {string} */ (remembered.keys().next().value));
  return list;
}
