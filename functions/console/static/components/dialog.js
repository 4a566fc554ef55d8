/** A question, or a form, that is answered before anything else: the browser's own modal dialog. */

import { t } from "../lib/i18n.js";
import { html, useEffect, useId, useRef } from "../lib/view.js";
import { Icon } from "./icon.js";

/** @param {{title: string, onClose: () => void, wide?: boolean, children?: any}} props */
export function Dialog({ title, onClose, wide = false, children }) {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const heading = useId();
  useEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return html`<dialog ref=${dialog} class=${wide ? "dialog dialog-wide" : "dialog"} aria-labelledby=${heading} onClose=${onClose}>
    <header class="dialog-head">
      <h2 id=${heading}>${title}</h2>
      <button type="button" class="button button-quiet" aria-label=${t("action.close")} onClick=${onClose}>
        <${Icon} name="cross" />
      </button>
    </header>
    <div class="dialog-body">${children}</div>
  </dialog>`;
}

/**
 * Asks before something that cannot be undone.
 * @param {{title: string, action: string, busy: boolean, onConfirm: () => void, onClose: () => void, children?: any}} props
 */
export function Confirmation({ title, action, busy, onConfirm, onClose, children }) {
  return html`<${Dialog} title=${title} onClose=${onClose}>
    ${children}
    <div class="dialog-actions">
      <button type="button" class="button" onClick=${onClose}>${t("action.cancel")}</button>
      <button type="button" class="button button-danger" disabled=${busy} onClick=${onConfirm}>${action}</button>
    </div>
  <//>`;
}
