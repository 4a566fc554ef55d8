/** The head of a page: what it is, what belongs to it, and what one can do. */

import { html, useEffect, useRef } from "../lib/view.js";

/** @type {boolean} */
let firstPage = true;

/** @param {{title: string, above?: any, beside?: any, actions?: any}} props */
export function PageHead({ title, above, beside, actions }) {
  const heading = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    // A page that was gone to is read from its heading on; the first one from the top of the document.
    if (!firstPage) heading.current?.focus({ preventScroll: true });
    firstPage = false;
  }, []);
  useEffect(() => {
    document.title = `${title} · Meridian`;
  }, [title]);
  return html`<header class="page-head">
    ${above && html`<p class="page-above">${above}</p>`}
    <div class="page-line">
      <h1 ref=${heading} tabindex="-1">${title}</h1>
      ${beside}
      ${actions && html`<div class="page-actions">${actions}</div>`}
    </div>
  </header>`;
}
