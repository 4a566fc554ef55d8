/** What a person can do for a run that waits: decide, or let it go on. */

import { api, request } from "../lib/api.js";
import { useDraft } from "../lib/drafts.js";
import { t } from "../lib/i18n.js";
import { compact, parse } from "../lib/json.js";
import { session } from "../lib/session.js";
import { useStore } from "../lib/store.js";
import { html, useState } from "../lib/view.js";
import { Icon } from "./icon.js";
import { JsonView } from "./json-view.js";
import { Faults, Failure, Notice } from "./notice.js";
import { Ago, Exactly } from "./time.js";

/**
 * @typedef {import("../lib/types.js").Pending} Pending
 * @typedef {import("../lib/types.js").Waiting} Waiting
 *
 * @typedef {{state: "idle" | "sending"} | {state: "done", status: number} | {state: "failed", error: any}} Sending
 */

/** @type {Sending} */
const IDLE = { state: "idle" };

/** The last name given in this tab, for who decides more than once. */
let lastName = "";

/** @param {{runId: string, pending: Pending, onSent: (sending: Sending) => void}} props */
export function DecisionForm({ runId, pending, onSent }) {
  const { session: held } = useStore(session);
  const [draft, change, forget] = useDraft(`${runId} ${pending.id}`, { outcome: "", by: lastName, comment: "", data: "" });
  const { outcome, comment, data } = draft;
  const by = held?.name ?? draft.by;
  const [sending, setSending] = useState(IDLE);
  const unreadable = data.trim() !== "" && readable(data) === undefined;

  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    lastName = by;
    setSending({ state: "sending" });
    const body = { outcome, by: by.trim() || null, comment: comment.trim() || null, data: readable(data) ?? null };
    const sent = await send(api("decide", runId, pending.id), body);
    if (sent.state === "done") forget();
    setSending(sent);
    onSent(sent);
  };

  return html`<section class="card action-card" aria-labelledby="decide-title">
    <h2 id="decide-title"><${Icon} name="person" />${pending.title}</h2>
    ${pending.message !== null && pending.message !== undefined && html`<${Message} message=${pending.message} />`}
    <p class="minor">${t("decide.asked")} <${Ago} at=${pending.requestedAt} /></p>
    <form class="form" onSubmit=${submit}>
      <fieldset class="outcomes">
        <legend>${t("decide.outcome")}</legend>
        ${pending.outcomes.map((name) => html`<label key=${name} class="outcome">
          <input type="radio" name="outcome" required value=${name} checked=${outcome === name} onChange=${() => change({ outcome: name })} />
          <span>${name}</span>
        </label>`)}
      </fieldset>
      <label class="field">
        <span class="field-label">${t("decide.by")}</span>
        <input type="text" name="by" required maxlength="200" autocomplete="name" value=${by} readonly=${held !== null}
          onInput=${(/** @type {any} */ input) => change({ by: input.currentTarget.value })} />
      </label>
      <label class="field">
        <span class="field-label">${t("decide.comment")}</span>
        <textarea name="comment" rows="2" maxlength="10000" value=${comment}
          onInput=${(/** @type {any} */ input) => change({ comment: input.currentTarget.value })}></textarea>
      </label>
      <${DataField} value=${data} unreadable=${unreadable} onInput=${(/** @type {string} */ written) => change({ data: written })} />
      <button type="submit" class="button button-primary" disabled=${sending.state === "sending" || unreadable}>
        <${Icon} name="check" />${t(sending.state === "sending" ? "action.sending" : "decide.send")}
      </button>
    </form>
    <${Sent} sending=${sending} what="decide" />
  </section>`;
}

/** @param {{runId: string, waiting: Waiting, title: string, onSent: (sending: Sending) => void}} props */
export function ResumeForm({ runId, waiting, title, onSent }) {
  const [{ data }, change, forget] = useDraft(`${runId} ${waiting.id}`, { data: "" });
  const [sending, setSending] = useState(IDLE);
  const unreadable = data.trim() !== "" && readable(data) === undefined;

  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    setSending({ state: "sending" });
    const sent = await send(api("resume", runId, waiting.id), { data: readable(data) ?? null });
    if (sent.state === "done") forget();
    setSending(sent);
    onSent(sent);
  };

  return html`<section class="card action-card action-wait" aria-labelledby="resume-title">
    <h2 id="resume-title"><${Icon} name="clock" />${title}</h2>
    <p>${t("resume.since")} <${Ago} at=${waiting.since} />. ${waiting.until === null
      ? t("resume.endless")
      : html`${t("resume.until")} <${Exactly} at=${waiting.until} />.`}</p>
    <form class="form" onSubmit=${submit}>
      <${DataField} value=${data} unreadable=${unreadable} onInput=${(/** @type {string} */ written) => change({ data: written })} />
      <button type="submit" class="button button-primary" disabled=${sending.state === "sending" || unreadable}>
        <${Icon} name="play" />${t(sending.state === "sending" ? "action.sending" : "resume.send")}
      </button>
    </form>
    <${Sent} sending=${sending} what="resume" />
  </section>`;
}

/** @param {{message: any}} props */
function Message({ message }) {
  return typeof message === "string" ? html`<p class="pending-message">${message}</p>` : html`<${JsonView} value=${message} />`;
}

/** @param {{value: string, unreadable: boolean, onInput: (value: string) => void}} props */
function DataField({ value, unreadable, onInput }) {
  return html`<details class="data-field">
    <summary>${t("signal.data")}</summary>
    <label class="field">
      <span class="field-label">${t("signal.data.json")}</span>
      <textarea name="data" class="mono" rows="4" spellcheck=${false} value=${value} aria-invalid=${unreadable}
        placeholder='{"value": 4.1}' onInput=${(/** @type {any} */ input) => onInput(input.currentTarget.value)}></textarea>
    </label>
    ${unreadable && html`<p class="field-error" role="alert">${t("signal.data.unreadable")}</p>`}
  </details>`;
}

/**
 * What became of a signal: it was applied, that is not known yet, or the run went on without it.
 * @param {{sending: Sending, what: string}} props
 */
export function Sent({ sending, what }) {
  if (sending.state === "done") {
    const known = sending.status === 200;
    return html`<${Notice} tone=${known ? "good" : "info"} title=${t(`${what}.${known ? "applied" : "accepted"}`)} live>
      ${!known && html`<p>${t("signal.accepted.means")}</p>`}
    <//>`;
  }
  if (sending.state !== "failed") return null;
  const { error } = sending;
  if (error.status !== 409) return html`<${Failure} error=${error} title=${t(`${what}.failed`)} />`;
  return html`<${Notice} tone="warning" title=${t(`${what}.conflict`)} live>
    <p class="problem-detail">${error.problem.detail}</p>
    <${Faults} faults=${error.faults} />
  <//>`;
}

/**
 * @param {string} path
 * @param {unknown} body
 * @returns {Promise<Sending>}
 */
async function send(path, body) {
  try {
    return { state: "done", status: (await request("POST", path, { text: compact(body) })).status };
  } catch (error) {
    return { state: "failed", error };
  }
}

/**
 * JSON that was written, or undefined when it is none.
 * @param {string} text
 */
function readable(text) {
  try {
    return text.trim() === "" ? undefined : parse(text);
  } catch {
    return undefined;
  }
}
