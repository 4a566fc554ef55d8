/** What changed between two versions of a definition. */

import { api, read } from "../lib/api.js";
import { diffLines, withContext } from "../lib/diff.js";
import { t } from "../lib/i18n.js";
import { pretty } from "../lib/json.js";
import { useResource } from "../lib/resource.js";
import { to } from "../lib/router.js";
import { html } from "../lib/view.js";
import { Icon } from "./icon.js";
import { Failure, Loading } from "./notice.js";

const AROUND = 3; // unchanged lines shown beside a change

/** @type {Record<string, string>} */
const SIGNS = { same: " ", removed: "−", added: "+" };

/** @param {{slug: string, before: number, after: number}} props */
export function Difference({ slug, before, after }) {
  const load = (/** @type {AbortSignal} */ signal) =>
    Promise.all([before, after].map((version) => read(api("workflows", slug, "versions", String(version)), { signal })));
  const { data, error, refresh } = useResource(load, [slug, before, after], { active: (found) => found === null });
  return html`<section class="card" aria-labelledby="difference-title">
    <div class="card-head">
      <h2 id="difference-title">${t("difference.title", { before, after })}</h2>
      <a class="button button-quiet" href=${to(["workflows", slug], { version: after })}><${Icon} name="cross" />${t("action.close")}</a>
    </div>
    ${data === null
      ? error === null ? html`<${Loading} />` : html`<${Failure} error=${error} retry=${refresh} />`
      : html`<${Lines} lines=${diffLines(pretty(data[0].spec), pretty(data[1].spec))} />`}
  </section>`;
}

/** @param {{lines: import("../lib/diff.js").DiffLine[]}} props */
function Lines({ lines }) {
  const changed = lines.filter(({ kind }) => kind !== "same");
  if (changed.length === 0) return html`<p class="minor">${t("difference.none")}</p>`;
  const count = (/** @type {string} */ kind) => changed.filter((line) => line.kind === kind).length;
  return html`
    <p class="minor">${t("difference.count", { added: count("added"), removed: count("removed") })}</p>
    <div class="table-scroll" tabindex="0" role="group" aria-label=${t("difference.label")}><table class="difference">
      <thead class="visually-hidden"><tr><th scope="col">${t("difference.before")}</th><th scope="col">${t("difference.after")}</th><th scope="col">${t("difference.change")}</th><th scope="col">${t("difference.text")}</th></tr></thead>
      <tbody>
        ${withContext(lines, AROUND).map((line, index) => line === null
          ? html`<tr key=${index} class="difference-gap"><td colspan="4">⋯</td></tr>`
          : html`<tr key=${index} class=${`difference-${line.kind}`}>
              <td class="source-number">${line.before}</td><td class="source-number">${line.after}</td>
              <td class="difference-sign"><span aria-hidden="true">${SIGNS[line.kind]}</span><span class="visually-hidden">${t(`difference.${line.kind}`)}</span></td>
              <td><code>${line.text}</code></td>
            </tr>`)}
      </tbody>
    </table></div>
  `;
}
