/** The visits of a run in their order: when, how long, what went in and what came out. */

import { between, duration, timeOfDay, exactTime } from "../lib/format.js";
import { t } from "../lib/i18n.js";
import { useNow } from "../lib/time.js";
import { classes, html, useEffect, useRef, useState } from "../lib/view.js";
import { NODE_ICONS } from "./graph.js";
import { Icon } from "./icon.js";
import { JsonView } from "./json-view.js";
import { StatusMark } from "./status.js";

const LATEST = 100; // visits that are shown before one asks for all: a run may have a thousand

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
  const [all, setAll] = useState(false);
  const list = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    list.current?.querySelector(".visit-selected")?.scrollIntoView({ block: "nearest" });
  }, [selected]);
  if (visits.length === 0) return html`<p class="minor">${t("timeline.none")}</p>`;

  const start = visits[0].startedAt;
  const whole = Math.max(1, between(start, visits[visits.length - 1].endedAt ?? now));
  const counted = new Map();
  const left = all ? 0 : Math.max(0, visits.length - LATEST);
  return html`${left > 0 && html`<p class="timeline-more"><button type="button" class="button" onClick=${() => setAll(true)}>${t("timeline.earlier", { count: left })}</button></p>`}
  <ol class="timeline" ref=${list} start=${left + 1}>
    ${visits.map((visit, index) => {
      const number = (counted.get(visit.node) ?? 0) + 1;
      counted.set(visit.node, number);
      if (index < left) return null;
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
    ${parts.map(({ name, value }) => html`<${Part} key=${name} name=${name} value=${value} />`)}
  </div>`;
}

/**
 * A part of a visit; its JSON is made when it is opened.
 * @param {{name: string, value: any}} props
 */
function Part({ name, value }) {
  const [open, setOpen] = useState(name === "error");
  return html`<details open=${open} onToggle=${(/** @type {any} */ event) => setOpen(event.currentTarget.open)}>
    <summary>${t(`timeline.${name}`)}</summary>
    ${open && html`<${JsonView} value=${value} label=${t(`timeline.${name}`)} />`}
  </details>`;
}
