/** A text with the number of each line, and the problems under the lines where they are. */

import { t } from "../lib/i18n.js";
import { classes, html } from "../lib/view.js";
import { problemPlaces } from "../lib/json-places.js";
import { Icon } from "./icon.js";
import { Failure, failureTitle, Notice } from "./notice.js";

/** @param {{text: string, problems?: import("../lib/json-places.js").Problem[]}} props */
export function AnnotatedSource({ text, problems = [] }) {
  const lines = text.split("\n");
  const placed = new Map(lines.map((_, line) => [line, problems.filter((problem) => problem.line === line)]));
  const elsewhere = problems.filter(({ line }) => line < 0);
  return html`
    ${elsewhere.map((problem) => html`<${Remark} problem=${problem} />`)}
    <div class="source" role="group" tabindex="0" aria-label=${t("source.label")}>
      ${lines.map((line, index) => {
        const here = placed.get(index) ?? [];
        return html`<div key=${index} class=${classes("source-line", here.length > 0 && "source-wrong")}>
          <span class="source-number" aria-hidden="true">${index + 1}</span><code>${line || " "}</code>
        </div>
        ${here.map((problem) => html`<${Remark} problem=${problem} />`)}`;
      })}
    </div>
  `;
}

/**
 * Why a text was refused: its problems at their places, where the service named any.
 * @param {{error: any, text: string, title: string}} props
 */
export function Refusal({ error, text, title }) {
  if (!error.faults?.length) return html`<${Failure} error=${error} title=${title} />`;
  return html`<${Notice} tone="bad" title=${title} live>
      <p>${failureTitle(error)}: ${t("source.problems", { count: error.faults.length })}</p>
    <//>
    <${AnnotatedSource} text=${text} problems=${problemPlaces(text, error.faults)} />`;
}

/** @param {{problem: import("../lib/json-places.js").Problem}} props */
function Remark({ problem }) {
  return html`<p class="remark"><${Icon} name="alert" /><span><code>${problem.pointer}</code> ${problem.detail}
    ${problem.line >= 0 && html`<span class="visually-hidden">${t("source.line", { line: problem.line + 1 })}</span>`}</span></p>`;
}
