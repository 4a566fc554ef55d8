/** The workflows, each with the version that receives events. */

import { Icon } from "../components/icon.js";
import { Empty, Failure, Loading } from "../components/notice.js";
import { PageHead } from "../components/page.js";
import { Publish } from "../components/publish.js";
import { Ago } from "../components/time.js";
import { read } from "../lib/api.js";
import { t } from "../lib/i18n.js";
import { useResource } from "../lib/resource.js";
import { to } from "../lib/router.js";
import { html, useState } from "../lib/view.js";

/**
 * @typedef {object} Workflow
 * @property {string} slug
 * @property {string} name
 * @property {number | null} activeVersion
 * @property {number} latestVersion
 * @property {string} publishedAt
 */

export function WorkflowsPage() {
  const { data, error, refresh } = useResource((signal) => read("/api/workflows", { signal }), ["workflows"], { interval: 15_000 });
  const [publishing, setPublishing] = useState(false);
  const publish = html`<button type="button" class="button button-primary" onClick=${() => setPublishing(true)}>
    <${Icon} name="upload" />${t("workflows.publish")}
  </button>`;
  return html`
    <${PageHead} title=${t("nav.workflows")} actions=${publish} />
    ${error !== null && html`<${Failure} error=${error} title=${data === null ? undefined : t("failure.refresh")} retry=${refresh} />`}
    ${data === null ? error === null && html`<${Loading} />` : html`<${Table} workflows=${data.workflows} />`}
    ${publishing && html`<${Publish} slug=${null} onPublished=${refresh} onClose=${() => setPublishing(false)} />`}
  `;
}

/** @param {{workflows: Workflow[]}} props */
function Table({ workflows }) {
  if (workflows.length === 0) return html`<${Empty} icon="branch" title=${t("workflows.empty")}>${t("workflows.empty.text")}<//>`;
  return html`<table class="table">
    <caption class="visually-hidden">${t("workflows.caption")}</caption>
    <thead><tr>${["name", "active", "latest", "published", "runs"].map((name) => html`<th key=${name} scope="col">${t(`workflows.${name}`)}</th>`)}</tr></thead>
    <tbody>
      ${workflows.map((workflow) => html`<tr key=${workflow.slug}>
        <td><a class="row-link" href=${to(["workflows", workflow.slug])}>${workflow.name}</a> <span class="minor mono">${workflow.slug}</span></td>
        <td><${Active} version=${workflow.activeVersion} /></td>
        <td>${t("run.version", { version: workflow.latestVersion })}</td>
        <td><${Ago} at=${workflow.publishedAt} /></td>
        <td><a href=${to(["runs"], { workflow: workflow.slug })}>${t("workflows.seeRuns")}</a></td>
      </tr>`)}
    </tbody>
  </table>`;
}

/** @param {{version: number | null}} props */
function Active({ version }) {
  if (version === null) return html`<span class="status status-idle"><${Icon} name="pause" />${t("workflows.inactive")}</span>`;
  return html`<span class="status status-completed"><${Icon} name="check" />${t("run.version", { version })}</span>`;
}
