/** A moment, as far from now as it is; its exact time on hover and for assistive technology. */

import { duration, exactTime, relativeTime } from "../lib/format.js";
import { useNow } from "../lib/time.js";
import { html } from "../lib/view.js";

/** @param {{at: string}} props */
export function Ago({ at }) {
  const now = useNow();
  return html`<time datetime=${at} title=${`${exactTime(at)} (${at})`}>${relativeTime(at, now)}</time>`;
}

/** @param {{at: string}} props */
export function Exactly({ at }) {
  const now = useNow();
  return html`<time datetime=${at} title=${`${relativeTime(at, now)} (${at})`}>${exactTime(at)}</time>`;
}

/**
 * How long it has been.
 * @param {{from: string}} props
 */
export function Since({ from }) {
  return html`<span title=${exactTime(from)}>${duration(useNow() - Date.parse(from))}</span>`;
}
