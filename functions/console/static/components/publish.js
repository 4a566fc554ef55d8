/** Publishes a definition from a file; what is wrong with it is shown where it stands in the file. */

import { api, request } from "../lib/api.js";
import { t } from "../lib/i18n.js";
import { to } from "../lib/router.js";
import { html, useState } from "../lib/view.js";
import { Dialog } from "./dialog.js";
import { Icon } from "./icon.js";
import { Notice } from "./notice.js";
import { AnnotatedSource, Refusal } from "./source.js";

const SLUG = "[a-z0-9]+(-[a-z0-9]+)*";

/**
 * @param {{slug: string | null, onPublished: () => void, onClose: () => void}} props without a slug it is asked for
 */
export function Publish({ slug, onPublished, onClose }) {
  const [name, setName] = useState(slug ?? "");
  const [activate, setActivate] = useState(true);
  const [text, setText] = useState(/** @type {string | null} */ (null));
  const [busy, setBusy] = useState(false);
  const [published, setPublished] = useState(/** @type {any} */ (null));
  const [error, setError] = useState(/** @type {any} */ (null));

  const choose = async (/** @type {any} */ event) => {
    /** @type {File | undefined} */
    const file = event.currentTarget.files[0];
    if (file === undefined) return;
    setPublished(null);
    setError(null);
    setText(await file.text());
    if (slug === null && name === "") setName(slugOf(file.name));
  };
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    setPublished(null);
    try {
      const answer = await request("POST", api("workflows", name, "versions"), { query: { activate: String(activate) }, text: text ?? "" });
      setPublished(answer.body);
      onPublished();
    } catch (failure) {
      setError(failure);
    }
    setBusy(false);
  };

  return html`<${Dialog} title=${t("publish.title")} onClose=${onClose} wide>
    <form class="form" onSubmit=${submit}>
      <label class="field">
        <span class="field-label">${t("publish.file")}</span>
        <input type="file" name="file" accept=".json,application/json" required onChange=${choose}
          onClick=${(/** @type {any} */ event) => (event.currentTarget.value = "")} />
      </label>
      <label class="field">
        <span class="field-label">${t("publish.slug")}</span>
        <input type="text" name="slug" class="mono" required maxlength="100" pattern=${SLUG} title=${t("publish.slug.form")} value=${name}
          readonly=${slug !== null} spellcheck=${false} autocomplete="off" onInput=${(/** @type {any} */ input) => setName(input.currentTarget.value)} />
      </label>
      <label class="check">
        <input type="checkbox" name="activate" checked=${activate} onChange=${(/** @type {any} */ input) => setActivate(input.currentTarget.checked)} />
        <span>${t("publish.activate")}</span>
      </label>
      <div class="dialog-actions">
        <button type="submit" class="button button-primary" disabled=${busy || text === null}>
          <${Icon} name="upload" />${t(busy ? "action.sending" : "publish.send")}
        </button>
      </div>
    </form>
    ${published !== null && html`<${Notice} tone="good" title=${t("publish.done", { version: published.version })} live>
      <p><a href=${to(["workflows", published.slug], { version: published.version })} onClick=${onClose}>${t("publish.see")}</a></p>
    <//>`}
    ${error !== null && html`<${Refusal} error=${error} text=${text ?? ""} title=${t("publish.failed")} />`}
    ${text !== null && published === null && !error?.faults?.length && html`<${AnnotatedSource} text=${text} />`}
  <//>`;
}

/**
 * The slug that a file's name suggests.
 * @param {string} fileName
 */
function slugOf(fileName) {
  const words = fileName.replace(/\.json$/i, "").toLowerCase().match(/[a-z0-9]+/g);
  return (words ?? []).join("-");
}
