/**
 * What is being written in a form: kept in this tab when one looks elsewhere, and while the same person signs in again.
 *
 * Only for the way to the identity provider and back it is written to the tab's session storage.
 */

import { useState } from "./view.js";

const KEPT = "meridian.drafts";

/** @type {Map<string, any>} */
let drafts = new Map();

/**
 * The values of a form by its name, how some of them are changed, and how all are forgotten.
 * @template {object} T
 * @param {string} name
 * @param {T} initial
 * @returns {[T, (changed: Partial<T>) => void, () => void]}
 */
export function useDraft(name, initial) {
  const [, render] = useState(/** @type {unknown} */ (null));
  const values = { ...initial, ...drafts.get(name) };
  const change = (/** @type {Partial<T>} */ changed) => {
    drafts.set(name, { ...drafts.get(name), ...changed });
    render({});
  };
  return [values, change, () => void drafts.delete(name)];
}

/** Before the provider's page takes the place of this one. @param {string | null} who has written them */
export function keepDrafts(who) {
  if (who !== null && drafts.size > 0) sessionStorage.setItem(KEPT, JSON.stringify({ who, drafts: [...drafts] }));
}

/** After one has signed in: another person is not shown what the one before wrote. @param {string} who */
export function restoreDrafts(who) {
  const kept = JSON.parse(sessionStorage.getItem(KEPT) ?? "null");
  sessionStorage.removeItem(KEPT);
  if (kept?.who === who) drafts = new Map(kept.drafts);
}

export function forgetDrafts() {
  drafts = new Map();
  sessionStorage.removeItem(KEPT);
}
