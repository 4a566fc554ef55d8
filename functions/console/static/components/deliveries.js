/** What became of each workflow that receives an event. */

import { t } from "../lib/i18n.js";
import { to } from "../lib/router.js";
import { html } from "../lib/view.js";
import { Status } from "./status.js";

/** @param {{runs: import("../lib/types.js").Delivery[]}} props */
export function Deliveries({ runs }) {
  return html`<ul class="deliveries">
    ${runs.map((run) => html`<li key=${run.runId}>
      <${Status} status=${run.reason} />
      <div>
        ${run.reason === "anteriority" ? run.workflowName : html`<a href=${to(["runs", run.runId])}>${run.workflowName}</a>`}
        <span class="minor">${[run.routeMatch && t(`route.${run.routeMatch}`), run.triggerId].filter(Boolean).join(" · ")}</span>
        <p class="minor">${t(`delivery.${run.reason}`)}</p>
      </div>
    </li>`)}
  </ul>`;
}
