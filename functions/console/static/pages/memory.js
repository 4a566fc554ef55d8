/** Workflow memory: what workflows remember of a subject, or for themselves. */

import { Confirmation } from "../components/dialog.js";
import { Icon } from "../components/icon.js";
import { JsonView } from "../components/json-view.js";
import { Empty, Failure, Loading, Notice } from "../components/notice.js";
import { PageHead } from "../components/page.js";
import { Ago } from "../components/time.js";
import { read, request } from "../lib/api.js";
import { t } from "../lib/i18n.js";
import { compact } from "../lib/json.js";
import { useResource } from "../lib/resource.js";
import { go, to } from "../lib/router.js";
import { html, useState } from "../lib/view.js";

/** @typedef {import("../lib/types.js").MemoryItem} MemoryItem */

const PAGE = 200;
const SHORT = 80; // characters of a value that a row shows whole

/** @param {{query: URLSearchParams}} props */
export function MemoryPage({ query }) {
  const subjectKind = query.get("subjectKind") ?? "";
  const subjectId = query.get("subjectId") ?? "";
  const workflow = query.get("workflow") ?? "";
  const chosen = workflow !== "" ? { scope: "workflow-global", workflow } : subjectId !== "" ? { subjectKind, subjectId } : null;
  return html`
    <${PageHead} title=${t("nav.memory")} />
    <${Search} key=${JSON.stringify(chosen)} subjectKind=${subjectKind} subjectId=${subjectId} workflow=${workflow} />
    ${chosen === null
      ? html`<${Empty} icon="database" title=${t("memory.choose")}>${t("memory.choose.text")}<//>`
      : html`<${Items} key=${JSON.stringify(chosen)} chosen=${chosen} />`}
  `;
}

/** @param {{subjectKind: string, subjectId: string, workflow: string}} props */
function Search({ subjectKind, subjectId, workflow }) {
  const [ofWorkflow, setOfWorkflow] = useState(workflow !== "");
  const submit = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const given = new FormData(/** @type {HTMLFormElement} */ (event.currentTarget));
    go(to(["memory"], Object.fromEntries([...given].map(([name, value]) => [name, String(value).trim()]))));
  };
  return html`<form class="filters" role="search" aria-label=${t("memory.search")} onSubmit=${submit}>
    <fieldset class="segments">
      <legend class="visually-hidden">${t("memory.of")}</legend>
      ${[false, true].map((choice) => html`<label key=${choice}>
        <input type="radio" checked=${ofWorkflow === choice} onChange=${() => setOfWorkflow(choice)} />
        <span>${t(choice ? "memory.of.workflow" : "memory.of.subject")}</span>
      </label>`)}
    </fieldset>
    ${ofWorkflow
      ? html`<label class="field"><span class="field-label">${t("filter.workflow")}</span>
          <input key="workflow" type="text" name="workflow" required maxlength="100" defaultValue=${workflow} spellcheck=${false} /></label>`
      : html`<label class="field"><span class="field-label">${t("memory.kind")}</span>
          <input key="kind" type="text" name="subjectKind" required maxlength="200" defaultValue=${subjectKind || "patient"} spellcheck=${false} /></label>
        <label class="field"><span class="field-label">${t("memory.id")}</span>
          <input key="id" type="text" name="subjectId" required maxlength="200" defaultValue=${subjectId} spellcheck=${false} autocomplete="off" /></label>`}
    <button type="submit" class="button button-primary"><${Icon} name="search" />${t("memory.show")}</button>
  </form>`;
}

/** @param {{chosen: Record<string, string>}} props */
function Items({ chosen }) {
  const [cursors, setCursors] = useState(/** @type {(string | null)[]} */ ([null]));
  const load = (/** @type {AbortSignal} */ signal) =>
    Promise.all(cursors.map((cursor) => read("/api/memory", { query: { ...chosen, cursor, limit: PAGE }, signal })));
  const { data: pages, error, refresh } = useResource(load, [chosen, cursors], { interval: 10_000 });
  const [asked, setAsked] = useState(/** @type {{item: MemoryItem | null} | null} */ (null));
  const [forgotten, setForgotten] = useState(/** @type {number | null} */ (null));

  if (pages === null) return error === null ? html`<${Loading} />` : html`<${Failure} error=${error} retry=${refresh} />`;
  /** @type {MemoryItem[]} */
  const items = pages.flatMap((page) => page.items);
  const next = pages.at(-1)?.nextCursor ?? null;
  const onForgotten = (/** @type {number} */ count) => {
    setAsked(null);
    setForgotten(count);
    setCursors([null]);
    refresh();
  };

  return html`
    ${error !== null && html`<${Failure} error=${error} title=${t("failure.refresh")} />`}
    ${forgotten !== null && html`<${Notice} tone="good" title=${t("memory.forgotten", { count: forgotten })} live />`}
    ${items.length === 0
      ? html`<${Empty} icon="database" title=${t("memory.empty")}>${t("memory.empty.text")}<//>`
      : html`
        <div class="table-bar">
          <p>${t(next === null ? "memory.count" : "memory.countSome", { count: items.length })}</p>
          ${chosen.subjectId && html`<a class="button" href=${to(["runs"], { subject: `${chosen.subjectKind}:${chosen.subjectId}` })}><${Icon} name="list" />${t("memory.runs")}</a>
            <button type="button" class="button button-danger-quiet" onClick=${() => setAsked({ item: null })}><${Icon} name="eraser" />${t("memory.forgetAll")}</button>`}
        </div>
        <${Table} items=${items} onForget=${(/** @type {MemoryItem} */ item) => setAsked({ item })} />
        ${next !== null && html`<p class="list-end"><button type="button" class="button" onClick=${() => setCursors([...cursors, next])}>${t("memory.more")}</button></p>`}
      `}
    ${asked !== null && html`<${Forget} chosen=${chosen} item=${asked.item} onForgotten=${onForgotten} onClose=${() => setAsked(null)} />`}
  `;
}

/** @param {{items: MemoryItem[], onForget: (item: MemoryItem) => void}} props */
function Table({ items, onForget }) {
  return html`<table class="table memory-table">
    <caption class="visually-hidden">${t("memory.caption")}</caption>
    <thead><tr>
      ${["key", "value", "version", "written", "expires", "writer"].map((name) => html`<th key=${name} scope="col">${t(`memory.${name}`)}</th>`)}
      <th scope="col"><span class="visually-hidden">${t("memory.forget")}</span></th>
    </tr></thead>
    <tbody>
      ${items.map((item) => html`<tr key=${JSON.stringify([item.scope, item.workflow, item.key])}>
        <td><span class="memory-key">${item.key}</span> <span class="minor">${t(`scope.${item.scope}`, { workflow: item.workflow ?? "" })}</span></td>
        <td><${Value} value=${item.value} /> <span class="minor">${item.typeName}</span></td>
        <td class="numeric">${item.version}</td>
        <td><${Ago} at=${item.writtenAt} /></td>
        <td>${item.expiresAt === null ? html`<span class="minor">${t("memory.never")}</span>` : html`<${Ago} at=${item.expiresAt} />`}</td>
        <td>${item.writtenBy && html`<a href=${to(["runs", item.writtenBy.run])}>${item.writtenBy.workflow}</a> <span class="minor mono">${item.writtenBy.node}</span>`}</td>
        <td class="row-action"><button type="button" class="button button-quiet" onClick=${() => onForget(item)}>
          <${Icon} name="eraser" />${t("memory.forget")}<span class="visually-hidden"> ${item.key}</span></button></td>
      </tr>`)}
    </tbody>
  </table>`;
}

/** @param {{value: unknown}} props */
function Value({ value }) {
  const text = compact(value);
  if (text.length <= SHORT) return html`<code class="memory-value">${text}</code>`;
  return html`<details class="memory-value"><summary><code>${text.slice(0, SHORT)}…</code></summary><${JsonView} value=${value} label=${t("memory.value")} /></details>`;
}

/**
 * @param {{chosen: Record<string, string>, item: MemoryItem | null, onForgotten: (count: number) => void, onClose: () => void}} props
 *   without an item everything of the subject
 */
function Forget({ chosen, item, onForgotten, onClose }) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState(/** @type {any} */ (null));
  const confirm = async () => {
    setBusy(true);
    setError(null);
    const address = item === null ? chosen : addressOf(item);
    try {
      onForgotten((await request("DELETE", "/api/memory", { query: address })).body.forgotten);
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  };
  const subject = `${chosen.subjectKind} ${chosen.subjectId}`;
  return html`<${Confirmation} title=${t(item === null ? "memory.forgetAll" : "memory.forgetOne")} action=${t("memory.forget")} busy=${busy} onConfirm=${confirm} onClose=${onClose}>
    <p>${item === null ? t("memory.askAll", { subject }) : t("memory.askOne", { key: item.key })}</p>
    <p class="minor">${t("memory.ask.means")}</p>
    ${error !== null && html`<${Failure} error=${error} title=${t("memory.failed")} />`}
  <//>`;
}

/** @param {MemoryItem} item */
const addressOf = ({ scope, subjectKind, subjectId, workflow, key }) => ({ scope, subjectKind, subjectId, workflow, key });
