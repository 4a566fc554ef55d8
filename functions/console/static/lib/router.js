/** Addresses of the page: where one is, how one gets elsewhere, and what the browser's back button restores. */

import { createStore } from "./store.js";

export const BASE = "/console";

/**
 * @typedef {object} Location
 * @property {string[]} path the decoded segments after `/console`
 * @property {URLSearchParams} query
 * @property {boolean} restored whether the browser's history led here
 */

/** @returns {Location} */
function read(restored = false) {
  const segments = location.pathname.slice(BASE.length).split("/").filter(Boolean);
  return { path: segments.map(decoded), query: new URLSearchParams(location.search), restored };
}

/** @param {string} segment */
function decoded(segment) {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

export const here = createStore(read());

/**
 * The address of a page. Values that are empty are left out of the query.
 * @param {string[]} segments
 * @param {Record<string, string | number | null | undefined>} [query]
 */
export function to(segments, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return `${BASE}/${segments.map(encodeURIComponent).join("/")}${search && `?${search}`}`;
}

/**
 * Goes to an address of the page. With `replace` the one before is not kept in the history.
 * @param {string} address
 * @param {{replace?: boolean}} [options]
 */
export function go(address, { replace = false } = {}) {
  if (replace) history.replaceState(null, "", address);
  else {
    history.replaceState({ scroll: scrollY }, "");
    history.pushState(null, "", address);
  }
  here.set(read());
}

/** How far the page was scrolled when one left the address that the history led back to. */
export const restoredScroll = () => (here.get().restored ? Number(history.state?.scroll ?? 0) : 0);

/** Follows links to the page's own addresses without loading it again. */
export function followLinks() {
  history.scrollRestoration = "manual";
  addEventListener("popstate", () => here.set(read(true)));
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    const plain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
    if (!(link instanceof HTMLAnchorElement) || !plain || event.defaultPrevented) return;
    const own = link.origin === location.origin && link.pathname.startsWith(`${BASE}/`);
    if (!own || link.target || link.hasAttribute("download")) return;
    event.preventDefault();
    go(link.pathname + link.search);
  });
}
