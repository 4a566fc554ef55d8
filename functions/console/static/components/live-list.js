/** Around a paged list: what is new, that the last reading failed, and what follows the last row. */

import { t } from "../lib/i18n.js";
import { html } from "../lib/view.js";
import { Icon } from "./icon.js";
import { Failure, Loading } from "./notice.js";

/**
 * @param {{
 *   list: import("../lib/paged-list.js").PagedList, again: () => void, showFresh: () => void,
 *   freshLabel: (count: number) => string, empty: any, children?: any,
 * }} props
 */
export function LiveList({ list, again, showFresh, freshLabel, empty, children }) {
  if (!list.loaded) return list.error === null ? html`<${Loading} rows=${10} />` : html`<${Failure} error=${list.error} retry=${again} />`;
  const stale = list.error !== null && !list.hasMore;
  return html`
    <div class="fresh" aria-live="polite">
      ${list.fresh > 0 && html`<button type="button" class="button button-primary fresh-button" onClick=${showFresh}>
        <${Icon} name="refresh" />${freshLabel(list.fresh)}
      </button>`}
    </div>
    ${list.error !== null && html`<${Failure} error=${list.error} title=${t("failure.refresh")} retry=${stale ? undefined : again} />`}
    ${list.rows.length === 0 ? list.error === null && empty : children}
    ${list.rows.length > 0 && html`<p class="list-end" role="status">${list.hasMore ? t("list.more") : t("list.end", { count: list.rows.length })}</p>`}
  `;
}
