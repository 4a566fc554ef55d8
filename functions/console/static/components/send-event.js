/** A form that sends one event, begun from a sample, and says what it started. */

import { request } from "../lib/api.js";
import { t } from "../lib/i18n.js";
import { pretty } from "../lib/json.js";
import { html, useEffect, useRef, useState } from "../lib/view.js";
import { Deliveries } from "./deliveries.js";
import { Dialog } from "./dialog.js";
import { Icon } from "./icon.js";
import { Notice } from "./notice.js";
import { Refusal } from "./source.js";

/** @typedef {{name: string, event: any}} Sample */

const SAMPLES_MILLISECONDS = 3000;

/** @param {{onClose: () => void, onSent: () => void}} props */
export function SendEvent({ onClose, onSent }) {
  const [samples, setSamples] = useState(/** @type {Sample[]} */ ([]));
  const [loading, setLoading] = useState(true); // nothing is typed into the sample that comes meanwhile
  const [text, setText] = useState("");
  const [sent, setSent] = useState("");
  const [busy, setBusy] = useState(false);
  const [answer, setAnswer] = useState(/** @type {any} */ (null));
  const [error, setError] = useState(/** @type {any} */ (null));

  useEffect(() => {
    fetch(new URL("../samples.json", import.meta.url), { signal: AbortSignal.timeout(SAMPLES_MILLISECONDS) })
      .then((found) => found.json())
      .then((/** @type {Sample[]} */ found) => {
        setSamples(found);
        setText(withoutId(found[0]));
      })
      .catch(() => {}) // the form works without them
      .finally(() => setLoading(false));
  }, []);

  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    setBusy(true);
    setSent(text);
    setError(null);
    setAnswer(null);
    try {
      setAnswer((await request("POST", "/api/events", { text })).body);
    } catch (failure) {
      setError(failure);
    }
    setBusy(false);
    onSent();
  };

  const result = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => result.current?.firstElementChild?.scrollIntoView({ block: "nearest" }), [answer, error]);

  return html`<${Dialog} title=${t("events.send")} onClose=${onClose} wide>
    <form class="form" onSubmit=${submit}>
      ${samples.length > 0 && html`<label class="field">
        <span class="field-label">${t("send.sample")}</span>
        <select name="sample" onChange=${(/** @type {any} */ input) => setText(withoutId(samples[input.currentTarget.selectedIndex]))}>
          ${samples.map(({ name }) => html`<option key=${name} value=${name}>${name}</option>`)}
        </select>
      </label>`}
      <label class="field">
        <span class="field-label">${t("send.event")}</span>
        <textarea name="event" class="mono" rows="16" required spellcheck=${false} readOnly=${loading} value=${text}
          onInput=${(/** @type {any} */ input) => setText(input.currentTarget.value)}></textarea>
      </label>
      <p class="minor">${t("send.id")}</p>
      <div class="dialog-actions">
        <button type="submit" class="button button-primary" disabled=${busy}>
          <${Icon} name="send" />${t(busy ? "action.sending" : "send.send")}
        </button>
      </div>
    </form>
    <div class="result" ref=${result}>
      ${error !== null && html`<${Refusal} error=${error} text=${sent} title=${t("send.failed")} />`}
      ${answer !== null && html`<${Outcome} answer=${answer} />`}
    </div>
  <//>`;
}

/** @param {{answer: {eventId: string, runs: import("../lib/types.js").Delivery[]}}} props */
function Outcome({ answer }) {
  const started = answer.runs.filter(({ created }) => created).length;
  const title = started > 0 ? t("why.started", { count: started }) : t(answer.runs.length > 0 ? "send.nothing" : "send.unrouted");
  return html`<${Notice} tone=${started > 0 ? "good" : "warning"} title=${title} live>
    <p class="mono minor">${answer.eventId}</p>
    <${Deliveries} runs=${answer.runs} />
  <//>`;
}

/**
 * A sample as it is sent: without its id, since an event that was sent once starts nothing the second time.
 * @param {Sample | undefined} sample
 */
function withoutId(sample) {
  if (sample === undefined) return "";
  const { eventId: _, ...event } = sample.event;
  return pretty(event);
}
