/** A status as a shape, a colour and a word: none of them stands alone. */

import { t } from "../lib/i18n.js";
import { html } from "../lib/view.js";
import { Icon } from "./icon.js";

/** @type {Record<string, string>} */
const ICONS = {
  // of a run, and of its nodes
  running: "play",
  suspended: "person",
  waiting: "clock",
  completed: "check",
  failed: "cross",
  unknown: "question",
  ended: "flag",
  skipped: "skip",
  idle: "circle",
  // of an event
  started: "check",
  duplicate: "repeat",
  anteriority: "clock",
  unrouted: "dash",
  rejected: "cross",
  unavailable: "alert",
};

/** @param {{status: string, title?: string}} props */
export function Status({ status, title }) {
  return html`<span class=${`status status-${status}`} title=${title}>
    <${Icon} name=${ICONS[status] ?? "question"} />${t(`status.${status}`)}
  </span>`;
}

/**
 * The shape alone, where the word stands beside it.
 * @param {{status: string}} props
 */
export function StatusMark({ status }) {
  return html`<span class=${`status-mark status-${status}`}><${Icon} name=${ICONS[status] ?? "question"} /></span>`;
}
