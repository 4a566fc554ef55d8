/** The visits of a run in their order: when, how long, what went in and what came out. */

import { between, duration, timeOfDay, exactTime } from "../lib/format.js";
import { t } from "../lib/i18n.js";
import { useNow } from "../lib/time.js";
import { classes, html, useEffect, useRef } from "../lib/view.js";
import { NODE_ICONS } from "./graph.js";
import { Icon } from "./icon.js";
import { JsonView } from "./json-view.js";
import { StatusMark } from "./status.js";

/**
 * @typedef {import("../lib/types.js").Snapshot} Snapshot
 * @typedef {import("../lib/types.js").Spec} Spec
 * @typedef {import("../lib/types.js").TraceEntry} TraceEntry
 *
 * @param {{snapshot: Snapshot, spec: Spec | null, selected: string | null, onSelect: (node: string) => void}} props
 */
export function Timeline({ snapshot, spec, selected, onSelect }) {
  const now = new Date(useNow()).toISOString();
  const visits = [...snapshot.trace, ...openVisit(snapshot)];
  const list = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    list.current?.querySelector(".visit-selected")?.scrollIntoView({ block: "nearest" });
  }, [selected]);
  if (visits.length === 0) return html`<p class="minor">${t("timeline.none")}</p>`;

  const start = visits[0].startedAt;
  const whole = Math.max(1, between(start, visits[visits.length - 1].endedAt ?? now));
  const counted = new Map();
  return html`<ol class="timeline" ref=${list}>
    ${visits.map((visit, index) => {
      const number = (counted.get(visit.node) ?? 0) + 1;
      counted.set(visit.node, number);
      const node = spec?.nodes.find(({ id }) => id === visit.node);
      const took = between(visit.startedAt, visit.endedAt ?? now);
      const bar = {
        marginInlineStart: `${(100 * between(start, visit.startedAt)) / whole}%`,
        width: `${Math.min(100, (100 * took) / whole)}%`,
      };
      return html`<li key=${index} class=${classes("visit", `visit-${visit.status}`, selected === visit.node && "visit-selected")}>
        <${StatusMark} status=${visit.status} />
        <div class="visit-head">
          <button type="button" class="visit-title" onClick=${() => onSelect(visit.node)}>${node?.title ?? visit.node}${number > 1 && html` <span class="minor">${t("timeline.visit", { number })}</span>`}</button>
          <span class="minor"><${Icon} name=${NODE_ICONS[node?.type ?? ""] ?? "circle"} /> ${node && t(`node.${node.type}`)} · <code>${visit.node}</code></span>
        </div>
        <div class="visit-time">
          <span>${visit.endedAt === null ? t(`status.${visit.status}`) : duration(took)}</span>
          <time class="minor" datetime=${visit.startedAt} title=${`${exactTime(visit.startedAt)} (${visit.startedAt})`}>${timeOfDay(visit.startedAt)}</time>
        </div>
        <div class="visit-track" aria-hidden="true"><span style=${bar}></span></div>
        <${Contents} visit=${visit} />
      </li>`;
    })}
  </ol>`;
}

/**
 * The visit that waits for somebody, which the trace does not hold before it has ended.
 * @param {Snapshot} snapshot
 * @returns {TraceEntry[]}
 */
function openVisit({ pending, waiting }) {
  const open = { endedAt: null, input: null, output: null, error: null };
  if (pending) return [{ ...open, node: pending.node, status: "suspended", startedAt: pending.requestedAt }];
  if (waiting) return [{ ...open, node: waiting.node, status: "waiting", startedAt: waiting.since }];
  return [];
}

/** @param {{visit: TraceEntry}} props */
function Contents({ visit }) {
  const parts = [
    { name: "input", value: visit.input },
    { name: "output", value: visit.output },
    { name: "error", value: visit.error },
  ].filter(({ value }) => value !== null && value !== undefined);
  if (parts.length === 0) return null;
  return html`<div class="visit-contents">
    ${parts.map(({ name, value }) => html`<details key=${name} open=${name === "error"}>
      <summary>${t(`timeline.${name}`)}</summary>
      <${JsonView} value=${value} label=${t(`timeline.${name}`)} />
    </details>`)}
  </div>`;
}
