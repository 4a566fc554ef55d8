/** One workflow: its versions, which of them receives events, and what changed between two. */

import { Confirmation } from "../components/dialog.js";
import { Difference } from "../components/difference.js";
import { Graph } from "../components/graph.js";
import { Icon } from "../components/icon.js";
import { JsonView } from "../components/json-view.js";
import { Failure, Loading, Notice } from "../components/notice.js";
import { PageHead } from "../components/page.js";
import { Publish } from "../components/publish.js";
import { Ago } from "../components/time.js";
import { api, read, request } from "../lib/api.js";
import { t } from "../lib/i18n.js";
import { useResource } from "../lib/resource.js";
import { go, to } from "../lib/router.js";
import { html, useState } from "../lib/view.js";

/**
 * @typedef {{version: number, name: string, specHash: string, publishedAt: string}} Version
 * @typedef {{slug: string, name: string, activeVersion: number | null, latestVersion: number, versions: Version[]}} Workflow
 *
 * @param {{id: string, query: URLSearchParams}} props
 */
export function WorkflowPage({ id: slug, query }) {
  const { data, error, refresh } = useResource((signal) => read(api("workflows", slug), { signal }), ["workflow", slug], { interval: 15_000 });
  const [publishing, setPublishing] = useState(false);
  const above = html`<a href=${to(["workflows"])}>${t("nav.workflows")}</a> <${Icon} name="chevron" /> <span class="mono">${slug}</span>`;
  if (data === null) {
    return html`<${PageHead} title=${t("nav.workflows")} above=${above} />
      ${error === null ? html`<${Loading} />` : html`<${Failure} error=${error} retry=${refresh} />`}`;
  }
  /** @type {Workflow} */
  const workflow = data;
  const version = Number(query.get("version")) || (workflow.activeVersion ?? workflow.latestVersion);
  const against = Number(query.get("against")) || null;
  const actions = html`<a class="button" href=${to(["runs"], { workflow: slug })}><${Icon} name="list" />${t("workflows.seeRuns")}</a>
    <button type="button" class="button button-primary" onClick=${() => setPublishing(true)}><${Icon} name="upload" />${t("workflow.publish")}</button>`;
  return html`
    <${PageHead} title=${workflow.name} above=${above} actions=${actions} />
    ${error !== null && html`<${Failure} error=${error} title=${t("failure.refresh")} />`}
    <${Versions} workflow=${workflow} version=${version} against=${against} refresh=${refresh} />
    ${against === null
      ? html`<${OneVersion} key=${version} slug=${slug} version=${version} />`
      : html`<${Difference} key=${`${against}-${version}`} slug=${slug} before=${against} after=${version} />`}
    ${publishing && html`<${Publish} slug=${slug} onPublished=${refresh} onClose=${() => setPublishing(false)} />`}
  `;
}

/** @param {{workflow: Workflow, version: number, against: number | null, refresh: () => Promise<void>}} props */
function Versions({ workflow, version, against, refresh }) {
  const [asked, setAsked] = useState(/** @type {{version: number | null} | null} */ (null));
  const { slug, activeVersion, versions } = workflow;
  const compare = (/** @type {number} */ other) => go(to(["workflows", slug], { version, against: other }), { replace: true });
  return html`<section class="card" aria-labelledby="versions-title">
    <div class="card-head">
      <h2 id="versions-title">${t("workflow.versions")}</h2>
      ${activeVersion !== null && html`<button type="button" class="button button-quiet" onClick=${() => setAsked({ version: null })}><${Icon} name="pause" />${t("workflow.stop")}</button>`}
    </div>
    ${activeVersion === null && html`<${Notice} tone="warning" title=${t("workflow.inactive")} />`}
    <div class="table-scroll"><table class="table table-flat">
      <caption class="visually-hidden">${t("workflow.versions")}</caption>
      <thead><tr>${["version", "state", "published", "hash", "compare"].map((name) => html`<th key=${name} scope="col">${t(`workflow.${name}`)}</th>`)}</tr></thead>
      <tbody>
        ${versions.map((one) => html`<tr key=${one.version} class=${one.version === version ? "row-chosen" : undefined}>
          <td><a href=${to(["workflows", slug], { version: one.version })} aria-current=${one.version === version ? "true" : undefined}>${t("run.version", { version: one.version })}</a></td>
          <td>${one.version === activeVersion
            ? html`<span class="status status-completed"><${Icon} name="check" />${t("workflow.active")}</span>`
            : html`<button type="button" class="button button-quiet" onClick=${() => setAsked({ version: one.version })}>${t("workflow.activate")}</button>`}</td>
          <td><${Ago} at=${one.publishedAt} /></td>
          <td class="mono minor" title=${one.specHash}>${one.specHash.slice(0, 12)}</td>
          <td>${one.version !== version && html`<button type="button" class="button button-quiet" aria-pressed=${against === one.version} onClick=${() => compare(one.version)}>
            ${t("workflow.compareWith", { version })}</button>`}</td>
        </tr>`)}
      </tbody>
    </table></div>
    ${asked !== null && html`<${Activate} workflow=${workflow} version=${asked.version} onDone=${() => (setAsked(null), refresh())} onClose=${() => setAsked(null)} />`}
  </section>`;
}

/** @param {{workflow: Workflow, version: number | null, onDone: () => void, onClose: () => void}} props */
function Activate({ workflow, version, onDone, onClose }) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState(/** @type {any} */ (null));
  const confirm = async () => {
    setBusy(true);
    try {
      await request("PUT", api("workflows", workflow.slug, "active"), { body: { version } });
      onDone();
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  };
  const name = workflow.name;
  return html`<${Confirmation} title=${t(version === null ? "workflow.stop" : "workflow.activate")} action=${t(version === null ? "workflow.stop" : "workflow.activate")}
    busy=${busy} onConfirm=${confirm} onClose=${onClose}>
    <p>${version === null ? t("workflow.askStop", { name }) : t("workflow.askActivate", { name, version })}</p>
    <p class="minor">${t("workflow.ask.means")}</p>
    ${error !== null && html`<${Failure} error=${error} title=${t("workflow.failed")} />`}
  <//>`;
}

/** @param {{slug: string, version: number}} props */
function OneVersion({ slug, version }) {
  const load = (/** @type {AbortSignal} */ signal) => read(api("workflows", slug, "versions", String(version)), { signal });
  const { data, error, refresh } = useResource(load, [slug, version], { active: (found) => found === null });
  const [selected, setSelected] = useState(/** @type {string | null} */ (null));
  if (data === null) return error === null ? html`<${Loading} />` : html`<${Failure} error=${error} retry=${refresh} />`;
  const node = data.spec.nodes.find((/** @type {{id: string}} */ { id }) => id === selected);
  return html`<div class="course">
    <section class="card" aria-labelledby="graph-title">
      <h2 id="graph-title">${t("workflow.graph", { version })}</h2>
      ${data.spec.description && html`<p class="minor">${data.spec.description}</p>`}
      <${Graph} spec=${data.spec} label=${t("workflow.graph", { version })} selected=${selected}
        onSelect=${(/** @type {string} */ id) => setSelected(id === selected ? null : id)} />
    </section>
    <section class="card" aria-labelledby="definition-title">
      <h2 id="definition-title">${node ? t("run.definition", { node: node.id }) : t("workflow.definition")}</h2>
      <${JsonView} value=${node ?? data.spec} label=${t("workflow.definition")} />
    </section>
  </div>`;
}
