/** Recent events: what each started, and why it started nothing. */

import { Deliveries } from "../components/deliveries.js";
import { Dialog } from "../components/dialog.js";
import { Icon } from "../components/icon.js";
import { JsonView } from "../components/json-view.js";
import { LiveList } from "../components/live-list.js";
import { Empty, Faults } from "../components/notice.js";
import { PageHead } from "../components/page.js";
import { SendEvent } from "../components/send-event.js";
import { Status } from "../components/status.js";
import { Ago, Exactly } from "../components/time.js";
import { VirtualTable } from "../components/virtual-table.js";
import { read } from "../lib/api.js";
import { t } from "../lib/i18n.js";
import { PagedList } from "../lib/paged-list.js";
import { to } from "../lib/router.js";
import { usePagedList } from "../lib/use-paged-list.js";
import { html, useState } from "../lib/view.js";

/** @typedef {import("../lib/types.js").Reception} Reception */

const COLUMNS = ["outcome", "event", "why", "source", "received"];

/** @param {{restoreScroll: number}} props */
export function EventsPage({ restoreScroll }) {
  const { list, onSight, again, showFresh } = usePagedList("events", eventList);
  const [shown, setShown] = useState(/** @type {Reception | null} */ (null));
  const [sending, setSending] = useState(false);
  const send = html`<button type="button" class="button button-primary" onClick=${() => setSending(true)}>
    <${Icon} name="send" />${t("events.send")}
  </button>`;

  return html`
    <${PageHead} title=${t("nav.events")} actions=${send} />
    <${LiveList} list=${list} again=${again} showFresh=${showFresh}
      freshLabel=${(/** @type {number} */ count) => t("events.fresh", { count })}
      empty=${html`<${Empty} icon="send" title=${t("events.empty")}>${t("events.empty.text")}<//>`}>
      <${VirtualTable} className="table events-table" caption=${t("events.caption")}
        columns=${COLUMNS.map((key) => ({ key, label: t(`events.${key}`) }))}
        rows=${list.rows} hasMore=${list.hasMore} rowKey=${(/** @type {Reception} */ row) => row.id}
        cells=${(/** @type {Reception} */ row) => cells(row, () => setShown(row))} onSight=${onSight} restoreScroll=${restoreScroll} />
    <//>
    ${shown !== null && html`<${Details} reception=${shown} onClose=${() => setShown(null)} />`}
    ${sending && html`<${SendEvent} onClose=${() => setSending(false)} onSent=${showFresh} />`}
  `;
}

const eventList = () =>
  new PagedList(
    async (cursor, limit, signal) => {
      const page = await read("/api/events", { query: { cursor, limit }, signal });
      return { rows: page.events, next: page.nextCursor };
    },
    (/** @type {Reception} */ row) => row.id,
    () => true,
  );

/**
 * @param {Reception} row
 * @param {() => void} onShow
 */
function cells(row, onShow) {
  const there = row.runs.filter(({ reason }) => reason !== "anteriority");
  return [
    html`<${Status} status=${row.outcome} />`,
    html`<button type="button" class="row-link link" onClick=${onShow}>${row.type ?? t("events.unreadable")}</button>
      <span class="minor mono" title=${row.eventId}>${row.eventId}</span>`,
    html`<span class="why">${sentence(row)}</span>${there.length > 0 && html`<span class="why-runs">${there.slice(0, 2).map(
      (run) => html`<a key=${run.runId} href=${to(["runs", run.runId])}>${run.workflowName}</a>`,
    )}${there.length > 2 && html` <span class="minor">+${there.length - 2}</span>`}</span>`}`,
    html`<span class="source-name" title=${row.source}>${row.source}</span>`,
    html`<${Ago} at=${row.receivedAt} />`,
  ];
}

/**
 * What an event did, or why it did nothing, in one sentence.
 * @param {Reception} row
 */
function sentence(row) {
  if (row.outcome === "started") return t("why.started", { count: row.runs.filter(({ created }) => created).length });
  if (row.outcome === "rejected") return row.problem?.detail ?? t("why.rejected");
  return t(`why.${row.outcome}`, { type: row.type ?? "" });
}

/** @param {{reception: Reception, onClose: () => void}} props */
function Details({ reception, onClose }) {
  const { eventId, type, source, receivedAt, outcome, runs, problem } = reception;
  return html`<${Dialog} title=${type ?? t("events.unreadable")} onClose=${onClose} wide>
    <p class="details-line"><${Status} status=${outcome} /> ${sentence(reception)}</p>
    <p class="minor">${t(`why.${outcome}.means`)}</p>
    <dl class="facts">
      <div><dt>${t("events.received")}</dt><dd><${Exactly} at=${receivedAt} /></dd></div>
      ${source && html`<div><dt>${t("events.source")}</dt><dd>${source}</dd></div>`}
      ${eventId && html`<div><dt>${t("fact.event")}</dt><dd class="mono">${eventId}</dd></div>
        <div><dt>${t("events.runs")}</dt><dd><a href=${to(["runs"], { event: eventId })}>${t("run.ofEvent")}</a></dd></div>`}
    </dl>
    ${problem && html`<${Faults} faults=${problem.errors ?? []} />`}
    ${runs.length > 0 && html`<${Deliveries} runs=${runs} />`}
    ${problem && html`<details><summary>${t("events.problem")}</summary><${JsonView} value=${problem} label=${t("events.problem")} /></details>`}
  <//>`;
}
