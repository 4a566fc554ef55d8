/** The filters of the runs. They stand in the address, so that a view can be kept and shared. */

import { read } from "../lib/api.js";
import { t } from "../lib/i18n.js";
import { useResource } from "../lib/resource.js";
import { classes, html, useEffect, useState } from "../lib/view.js";
import { Icon } from "./icon.js";

export const FILTERS = ["status", "workflow", "trigger", "eventType", "event", "subject", "from", "to"];
const STATUSES = ["", "live", "completed", "failed"];

/**
 * @typedef {(filter: Record<string, string | null>) => void} OnFilter
 *
 * @param {{query: URLSearchParams, onFilter: OnFilter}} props
 */
export function RunFilters({ query, onFilter }) {
  const workflow = query.get("workflow");
  const [unfolded, setUnfolded] = useState(false); // matters on narrow screens alone
  const workflows = useResource((signal) => read("/api/workflows", { signal }), ["workflows"]);
  const entries = useEntries(workflow);
  const chosen = FILTERS.filter((name) => query.get(name));

  /** @type {{slug: string, name: string}[]} */
  const known = workflows.data?.workflows ?? [];
  const options = known.map(({ slug, name }) => ({ value: slug, label: name }));
  if (workflow && !known.some(({ slug }) => slug === workflow)) options.push({ value: workflow, label: workflow });

  return html`<form class=${classes("filters", "run-filters", unfolded && "filters-unfolded")} role="search" aria-label=${t("filter.title")} onSubmit=${(/** @type {Event} */ event) => event.preventDefault()}>
    <fieldset class="segments">
      <legend class="visually-hidden">${t("filter.status")}</legend>
      ${STATUSES.map((status) => html`<label key=${status}>
        <input type="radio" name="status" value=${status} checked=${(query.get("status") ?? "") === status}
          onChange=${() => onFilter({ status: status || null })} />
        <span>${t(`filter.status.${status || "all"}`)}</span>
      </label>`)}
    </fieldset>
    <button type="button" class="button filter-fold" aria-expanded=${unfolded} onClick=${() => setUnfolded(!unfolded)}>
      <${Icon} name="filter" />${t("filter.more")}
    </button>
    <${Choice} name="workflow" value=${workflow} options=${options} onFilter=${(/** @type {any} */ filter) => onFilter({ ...filter, trigger: null })} />
    ${(entries.length > 1 || query.get("trigger")) && html`<${Choice} name="trigger" value=${query.get("trigger")}
      options=${withChosen(entries, query.get("trigger")).map((id) => ({ value: id, label: id }))} onFilter=${onFilter} />`}
    <${Text} name="eventType" value=${query.get("eventType")} onFilter=${onFilter} />
    <${Text} name="event" value=${query.get("event")} onFilter=${onFilter} />
    <${Text} name="subject" value=${query.get("subject")} placeholder="patient:p-42" onFilter=${onFilter} />
    <${Day} name="from" value=${query.get("from")} onFilter=${onFilter} />
    <${Day} name="to" value=${query.get("to")} onFilter=${onFilter} />
    ${chosen.length > 0 && html`<button type="button" class="button button-quiet filter-clear"
      onClick=${() => onFilter(Object.fromEntries(FILTERS.map((name) => [name, null])))}>
      <${Icon} name="cross" />${t("filter.clear", { count: chosen.length })}
    </button>`}
  </form>`;
}

/**
 * The ids of the entries of a workflow's active version.
 * @param {string | null} slug
 * @returns {string[]}
 */
function useEntries(slug) {
  const load = async (/** @type {AbortSignal} */ signal) =>
    slug === null ? null : (await read(`/api/workflows/${encodeURIComponent(slug)}`, { signal })).spec;
  const { data } = useResource(load, ["entries", slug], { active: () => false });
  return (data?.entries ?? []).map((/** @type {{id: string}} */ entry) => entry.id);
}

/**
 * @param {string[]} values
 * @param {string | null} chosen
 */
const withChosen = (values, chosen) => (chosen !== null && !values.includes(chosen) ? [...values, chosen] : values);

/** @param {{name: string, value: string | null, options: {value: string, label: string}[], onFilter: OnFilter}} props */
function Choice({ name, value, options, onFilter }) {
  return html`<label class="field">
    <span class="field-label">${t(`filter.${name}`)}</span>
    <select name=${name} value=${value ?? ""} onChange=${(/** @type {any} */ event) => onFilter({ [name]: event.currentTarget.value || null })}>
      <option value="" selected=${!value}>${t("filter.any")}</option>
      ${options.map((option) => html`<option key=${option.value} value=${option.value} selected=${option.value === value}>${option.label}</option>`)}
    </select>
  </label>`;
}

/** @param {{name: string, value: string | null, placeholder?: string, onFilter: OnFilter}} props */
function Text({ name, value, placeholder, onFilter }) {
  const [written, setWritten] = useState(value ?? "");
  useEffect(() => setWritten(value ?? ""), [value]);
  const apply = () => {
    if (written.trim() !== (value ?? "")) onFilter({ [name]: written.trim() || null });
  };
  return html`<label class="field">
    <span class="field-label">${t(`filter.${name}`)}</span>
    <input type="text" name=${name} value=${written} placeholder=${placeholder} autocomplete="off" spellcheck=${false}
      onInput=${(/** @type {any} */ event) => setWritten(event.currentTarget.value)}
      onChange=${apply} />
  </label>`;
}

/** @param {{name: string, value: string | null, onFilter: OnFilter}} props */
function Day({ name, value, onFilter }) {
  return html`<label class="field field-day">
    <span class="field-label">${t(`filter.${name}`)}</span>
    <input type="date" name=${name} value=${(value ?? "").slice(0, 10)}
      onChange=${(/** @type {any} */ event) => onFilter({ [name]: event.currentTarget.value || null })} />
  </label>`;
}
