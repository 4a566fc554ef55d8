/** One run: what it waits for, the way it took, and where it comes from. */

import { Graph } from "../components/graph.js";
import { Icon } from "../components/icon.js";
import { JsonView } from "../components/json-view.js";
import { Failure, Loading, Notice } from "../components/notice.js";
import { PageHead } from "../components/page.js";
import { DecisionForm, ResumeForm, Sent } from "../components/signal-forms.js";
import { Status } from "../components/status.js";
import { Subjects } from "../components/subjects.js";
import { Ago, Exactly, Since } from "../components/time.js";
import { Timeline } from "../components/timeline.js";
import { api, read } from "../lib/api.js";
import { between, duration } from "../lib/format.js";
import { t } from "../lib/i18n.js";
import { useResource } from "../lib/resource.js";
import { to } from "../lib/router.js";
import { html, useState } from "../lib/view.js";

/** @typedef {import("../lib/types.js").RunDetail} RunDetail */

const INTERVAL = 3_000;

/** @param {{id: string}} props */
export function RunPage({ id }) {
  const run = useResource((signal) => read(api("runs", id), { signal }), ["run", id], {
    interval: INTERVAL,
    active: (/** @type {RunDetail | null} */ data) => data?.finalStatus == null,
  });
  const above = html`<a href=${to(["runs"])}>${t("nav.runs")}</a> <${Icon} name="chevron" /> <span class="mono">${id}</span>`;
  if (run.data === null) {
    return html`<${PageHead} title=${t("run.title")} above=${above} />
      ${run.error === null ? html`<${Loading} />` : html`<${Failure} error=${run.error} retry=${run.refresh} />`}`;
  }
  /** @type {RunDetail} */
  const detail = run.data;
  return html`
    <${PageHead} title=${detail.workflowName} above=${above}
      beside=${html`<span aria-live="polite"><${Status} status=${detail.status} /></span> ${detail.source === "archive" && html`<span class="tag" title=${t("run.archive.means")}><${Icon} name="archive" />${t("run.archive")}</span>`}`} />
    ${run.error !== null && html`<${Failure} error=${run.error} title=${t("failure.refresh")} />`}
    <${Facts} run=${detail} />
    <${Ending} run=${detail} />
    <${Actions} run=${detail} refresh=${run.refresh} />
    <${Course} run=${detail} />
    ${!isOpen(detail) && html`<${EventCard} event=${detail.event} />`}
  `;
}

/**
 * Whether the run waits for somebody.
 * @param {RunDetail} run
 */
const isOpen = ({ snapshot }) => Boolean(snapshot?.pending ?? snapshot?.waiting);

/** @param {{event: any}} props */
function EventCard({ event }) {
  return html`<section class="card" aria-labelledby="event-title">
    <h2 id="event-title">${t("run.event")}</h2>
    <${JsonView} value=${event} label=${t("run.event")} />
  </section>`;
}

/** @param {{run: RunDetail}} props */
function Facts({ run }) {
  const version = run.specVersion === null ? t("run.draft") : t("run.version", { version: run.specVersion });
  const slug = run.workflowSlug;
  return html`<dl class="facts">
    <div><dt>${t("fact.started")}</dt><dd><${Exactly} at=${run.createdAt} /> <span class="minor">(<${Ago} at=${run.createdAt} />)</span></dd></div>
    <div><dt>${t("fact.duration")}</dt><dd>${run.finalStatus === null ? html`<${Since} from=${run.createdAt} />` : duration(between(run.createdAt, run.updatedAt))}</dd></div>
    <div><dt>${t("fact.subjects")}</dt><dd><${Subjects} subjects=${run.subjects} /></dd></div>
    <div><dt>${t("fact.event")}</dt><dd>
      <a href=${to(["runs"], { event: run.sourceEventId })} title=${t("run.ofEvent")}>${run.eventType ?? t("fact.none")}</a>
      <span class="minor mono">${run.sourceEventId}</span></dd></div>
    <div><dt>${t("fact.workflow")}</dt><dd>
      ${slug === null ? run.workflowFile : html`<a href=${to(["workflows", slug], { version: run.specVersion })}>${slug}</a>`}
      <span class="minor" title=${run.specHash}>${version}</span></dd></div>
    <div><dt>${t("fact.entry")}</dt><dd>${run.triggerId ?? t("fact.only")} ${run.routeMatch && html`<span class="minor">${t(`route.${run.routeMatch}`)}</span>`}</dd></div>
    <div><dt>${t("fact.restate")}</dt><dd class="mono">${run.restateUrl ?? t("fact.unknown")}</dd></div>
    <div><dt>${t("fact.source")}</dt><dd>${t(`source.${run.source ?? "none"}`)}</dd></div>
  </dl>`;
}

/**
 * The form for what the run waits for, beside the event that it is about. What became of the last signal stays when
 * the form goes.
 * @param {{run: RunDetail, refresh: () => Promise<void>}} props
 */
function Actions({ run, refresh }) {
  const [sent, setSent] = useState(/** @type {{what: string, id: string, sending: any} | null} */ (null));
  const { pending = null, waiting = null } = run.snapshot ?? {};
  const openId = pending?.id ?? waiting?.id ?? null;
  const onSent = (/** @type {string} */ what, /** @type {string} */ id) => (/** @type {any} */ sending) => {
    setSent({ what, id, sending });
    refresh();
  };
  const node = run.spec?.nodes.find((/** @type {{id: string}} */ { id }) => id === waiting?.node);
  return html`
    ${sent !== null && sent.id !== openId && html`<${Sent} sending=${sent.sending} what=${sent.what} />`}
    ${isOpen(run) && html`<div class="course">
      ${pending !== null && html`<${DecisionForm} key=${pending.id} runId=${run.id} pending=${pending} onSent=${onSent("decide", pending.id)} />`}
      ${waiting !== null && html`<${ResumeForm} key=${waiting.id} runId=${run.id} waiting=${waiting} title=${node?.title ?? waiting.node} onSent=${onSent("resume", waiting.id)} />`}
      <${EventCard} event=${run.event} />
    </div>`}
  `;
}

/**
 * Why the run failed, or why nothing is known of it.
 * @param {{run: RunDetail}} props
 */
function Ending({ run }) {
  if (run.status === "unknown") {
    return html`<${Notice} tone="warning" title=${t("run.unknown")}><p>${t("run.unknown.means")}</p><//>`;
  }
  if (run.status !== "failed") return null;
  const error = run.snapshot?.error;
  if (!error) return html`<${Notice} tone="bad" title=${t("run.stopped")}><p>${t("run.stopped.means")}</p><//>`;
  return html`<${Notice} tone="bad" title=${t("run.failed")}>
    <p>${error.node && html`<code>${error.node}</code>: `}${error.reason} ${error.code && html`<span class="minor">(${error.code})</span>`}</p>
  <//>`;
}

/**
 * The graph and the timeline beside each other; what is selected in one is shown in the other.
 * @param {{run: RunDetail}} props
 */
function Course({ run }) {
  const [selected, setSelected] = useState(/** @type {string | null} */ (null));
  const select = (/** @type {string} */ node) => setSelected((known) => (known === node ? null : node));
  return html`<div class="course">
    ${run.spec !== null && html`<section class="card" aria-labelledby="graph-title">
      <h2 id="graph-title">${t("run.graph")}</h2>
      <${Graph} spec=${run.spec} label=${t("run.graph")} snapshot=${run.snapshot ?? NOTHING} nodeStatus=${run.nodeStatus} triggerId=${run.triggerId}
        selected=${selected} onSelect=${select} />
      ${selected !== null && html`<${Definition} run=${run} node=${selected} />`}
    </section>`}
    ${run.snapshot !== null && html`<section class="card" aria-labelledby="timeline-title">
      <h2 id="timeline-title">${t("run.timeline")}</h2>
      <${Timeline} snapshot=${run.snapshot} spec=${run.spec} selected=${selected} onSelect=${select} />
    </section>`}
  </div>`;
}

const NOTHING = { status: "unknown", trace: [], pending: null, waiting: null, error: null };

/** @param {{run: RunDetail, node: string}} props */
function Definition({ run, node }) {
  const definition = run.spec?.nodes.find((/** @type {{id: string}} */ { id }) => id === node);
  return html`<div class="node-definition">
    <h3>${t("run.definition", { node })}</h3>
    <${JsonView} value=${definition} label=${t("run.definition", { node })} />
  </div>`;
}
