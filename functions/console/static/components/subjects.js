/** Whom something is about: each subject leads to all of its runs. */

import { to } from "../lib/router.js";
import { html } from "../lib/view.js";

/** @param {{subjects: Record<string, string>}} props */
export function Subjects({ subjects }) {
  return html`<ul class="subjects">
    ${Object.entries(subjects).map(([kind, id]) => html`<li key=${kind}>
      <a class="subject" href=${to(["runs"], { subject: `${kind}:${id}` })}>
        <span class="subject-kind">${kind}</span> <span class="subject-id">${id}</span>
      </a>
    </li>`)}
  </ul>`;
}
