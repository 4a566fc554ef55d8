/** What is said in place of content, or above it: that it loads, that there is none, that something went wrong. */

import { has, t } from "../lib/i18n.js";
import { signIn } from "../lib/session.js";
import { html, useState } from "../lib/view.js";
import { Icon } from "./icon.js";

/** @type {Record<string, string>} */
const ICONS = { info: "flag", good: "check", warning: "alert", bad: "cross" };

/** @param {{tone?: "info" | "good" | "warning" | "bad", title?: string, live?: boolean, children?: any}} props */
export function Notice({ tone = "info", title, live = false, children }) {
  return html`<div class=${`notice notice-${tone}`} role=${live ? (tone === "bad" ? "alert" : "status") : undefined}>
    <${Icon} name=${ICONS[tone]} />
    <div>${title && html`<p class="notice-title">${title}</p>`}${children}</div>
  </div>`;
}

/** @param {{icon?: string, title: string, children?: any}} props */
export function Empty({ icon = "inbox", title, children }) {
  return html`<div class="empty">
    <span class="empty-icon"><${Icon} name=${icon} /></span>
    <p class="empty-title">${title}</p>
    ${children && html`<div class="empty-text">${children}</div>`}
  </div>`;
}

/** @param {{label?: string, rows?: number}} props */
export function Loading({ label = t("state.loading"), rows = 6 }) {
  return html`<div class="loading" role="status">
    <span class="visually-hidden">${label}</span>
    ${Array.from({ length: rows }, (_, index) => html`<div key=${index} class="loading-row" aria-hidden="true"></div>`)}
  </div>`;
}

/**
 * Why something could not be read or done, in the words of this page and then of the service.
 * @param {{error: any, title?: string, retry?: () => void}} props
 */
export function Failure({ error, title, retry }) {
  if (error.status === 401) return html`<${SignInAgain} />`;
  return html`<${Notice} tone="bad" title=${title ?? failureTitle(error)} live>
    ${title && html`<p>${failureTitle(error)}</p>`}
    ${error.problem?.detail && html`<p class="problem-detail">${error.problem.detail}</p>`}
    <${Faults} faults=${error.faults ?? []} />
    ${retry && html`<p><button type="button" class="button" onClick=${retry}><${Icon} name="refresh" />${t("action.retry")}</button></p>`}
  <//>`;
}

/** @param {any} error */
export function failureTitle(error) {
  if (typeof error.status !== "number") return t("failure.page");
  const known = `failure.${error.status}`;
  if (has(known)) return t(known);
  return error.status >= 500 ? t("failure.5xx") : (error.problem?.title ?? t("failure.4xx"));
}

/** @param {{faults: import("../lib/api.js").FieldFault[]}} props */
export function Faults({ faults }) {
  if (faults.length === 0) return null;
  return html`<ul class="faults">
    ${faults.map((fault) => html`<li><code>${fault.pointer || fault.in}</code> ${fault.detail}</li>`)}
  </ul>`;
}

export function SignInAgain() {
  return html`<${Notice} tone="warning" title=${t("session.needed")} live>
    <${SignInButton} />
  <//>`;
}

/** Leads to the provider, and says when it cannot be reached. */
export function SignInButton() {
  const [failed, setFailed] = useState(false);
  const begin = () => signIn().catch(() => setFailed(true));
  return html`<p><button type="button" class="button button-primary" onClick=${begin}>${t("session.in")}</button>
    ${failed && html` <strong role="alert">${t("session.refused")}</strong>`}</p>`;
}
