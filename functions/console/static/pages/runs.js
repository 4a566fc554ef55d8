/** Runs, newest first. */

import { Icon } from "../components/icon.js";
import { LiveList } from "../components/live-list.js";
import { Empty } from "../components/notice.js";
import { PageHead } from "../components/page.js";
import { FILTERS, RunFilters } from "../components/run-filters.js";
import { Status } from "../components/status.js";
import { Subjects } from "../components/subjects.js";
import { Ago } from "../components/time.js";
import { VirtualTable } from "../components/virtual-table.js";
import { Volume } from "../components/volume.js";
import { read } from "../lib/api.js";
import { t } from "../lib/i18n.js";
import { PagedList } from "../lib/paged-list.js";
import { go, to } from "../lib/router.js";
import { usePagedList } from "../lib/use-paged-list.js";
import { html } from "../lib/view.js";

/** @typedef {import("../lib/types.js").Run} Run */

const COLUMNS = ["status", "workflow", "subjects", "event", "started", "updated"];

/** @param {{query: URLSearchParams, restoreScroll: number}} props */
export function RunsPage({ query, restoreScroll }) {
  const filter = Object.fromEntries(FILTERS.map((name) => [name, query.get(name)]));
  const name = `runs ${JSON.stringify(filter)}`;
  const { list, onSight, again, showFresh } = usePagedList(name, () => runList(filter));
  const onFilter = (/** @type {Record<string, string | null>} */ changed) =>
    go(to(["runs"], { ...filter, ...changed }), { replace: true });
  const filtered = Object.values(filter).some(Boolean);

  return html`
    <${PageHead} title=${t("nav.runs")} />
    <${Volume} query=${query} onFilter=${onFilter} />
    <${RunFilters} query=${query} onFilter=${onFilter} />
    <${LiveList} key=${name} list=${list} again=${again} showFresh=${showFresh}
      freshLabel=${(/** @type {number} */ count) => t("runs.fresh", { count })}
      empty=${filtered ? html`<${Empty} icon="filter" title=${t("runs.none")}>${t("runs.none.text")}<//>` : html`<${NoRuns} />`}>
      <${VirtualTable} className="table runs-table" caption=${t("runs.caption")}
        columns=${COLUMNS.map((key) => ({ key, label: t(`runs.${key}`) }))}
        rows=${list.rows} hasMore=${list.hasMore} rowKey=${(/** @type {Run} */ run) => run.id} cells=${cells}
        onSight=${onSight} restoreScroll=${restoreScroll} />
    <//>
  `;
}

function NoRuns() {
  return html`<${Empty} icon="list" title=${t("runs.empty")}>
    <p>${t("runs.empty.text")}</p>
    <p><a class="button" href=${to(["events"])}><${Icon} name="send" />${t("events.send")}</a></p>
  <//>`;
}

/** @param {Record<string, string | null>} filter */
function runList(filter) {
  return new PagedList(
    async (cursor, limit, signal) => {
      const page = await read("/api/runs", { query: { ...filter, cursor, limit }, signal });
      return { rows: page.runs, next: page.nextCursor };
    },
    (/** @type {Run} */ run) => run.id,
    (/** @type {Run} */ run) => run.finalStatus !== null || run.gone === true,
  );
}

/** @param {Run} run */
function cells(run) {
  return [
    run.gone ? html`<${Status} status="ended" title=${t("runs.gone")} />` : html`<${Status} status=${run.status} />`,
    html`<a class="row-link" href=${to(["runs", run.id])}>${run.workflowName}</a>
      <span class="minor">${[run.specVersion === null ? t("run.draft") : t("run.version", { version: run.specVersion }), run.triggerId].filter(Boolean).join(" · ")}</span>`,
    html`<${Subjects} subjects=${run.subjects} />`,
    html`<span class="event-type">${run.eventType}</span> <span class="minor mono" title=${run.sourceEventId}>${run.sourceEventId}</span>`,
    html`<${Ago} at=${run.createdAt} />`,
    html`<${Ago} at=${run.updatedAt ?? run.createdAt} />`,
  ];
}
