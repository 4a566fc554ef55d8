/** The events of the last seven days, a small chart per type. A type, or one of its days, filters the runs. */

import { dayAfter, dayName, number } from "../lib/format.js";
import { t } from "../lib/i18n.js";
import { read } from "../lib/api.js";
import { useResource } from "../lib/resource.js";
import { classes, html, useRef } from "../lib/view.js";

const INTERVAL = 30_000;
const HIGHEST = 32; // pixels

/** What was shown last, for one who comes back to the page. @type {any} */
let lastRead = null;

/**
 * @typedef {{eventType: string, total: number, days: {day: string, events: number}[]}} TypeVolume
 *
 * @param {{query: URLSearchParams, onFilter: (filter: Record<string, string | null>) => void}} props
 */
export function Volume({ query, onFilter }) {
  const load = (/** @type {AbortSignal} */ signal) => read("/api/events/volume", { signal });
  const { data, error } = useResource(load, ["volume"], { interval: INTERVAL, initial: lastRead });
  lastRead = data;
  // Its place is kept while it loads, so that the list below is not moved.
  if (data === null) return error === null ? html`<div class="volume volume-loading"></div>` : null;
  if (data.types.length === 0) return null;
  /** @type {TypeVolume[]} */
  const types = [...data.types].sort((one, other) => other.total - one.total);
  return html`<section class="volume" aria-label=${t("volume.title")}>
    ${types.map((type) => html`<${TypeChart} key=${type.eventType} type=${type} query=${query} onFilter=${onFilter} />`)}
  </section>`;
}

/** @param {{type: TypeVolume, query: URLSearchParams, onFilter: (filter: Record<string, string | null>) => void}} props */
function TypeChart({ type, query, onFilter }) {
  const bars = useRef(/** @type {HTMLElement | null} */ (null));
  const most = Math.max(1, ...type.days.map(({ events }) => events));
  const ofType = query.get("eventType") === type.eventType;
  const chosenDay = ofType ? query.get("from") : null;

  const chooseType = () =>
    onFilter(ofType ? { eventType: null, from: null, to: null } : { eventType: type.eventType, from: null, to: null });
  const chooseDay = (/** @type {string} */ day) =>
    onFilter(
      chosenDay === day
        ? { eventType: type.eventType, from: null, to: null }
        : { eventType: type.eventType, from: day, to: dayAfter(day) },
    );
  const onKeyDown = (/** @type {KeyboardEvent} */ event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step === undefined || !(event.target instanceof Element)) return;
    const buttons = [...(bars.current?.querySelectorAll("button") ?? [])];
    buttons[buttons.findIndex((button) => button === event.target) + step]?.focus();
    event.preventDefault();
  };

  return html`<div class=${classes("chart", ofType && "chart-chosen")}>
    <button type="button" class="chart-type" aria-pressed=${ofType} onClick=${chooseType} title=${type.eventType}>
      <span class="chart-name">${type.eventType}</span>
      <span class="chart-total">${number(type.total)}</span>
    </button>
    <div class="chart-bars" role="group" aria-label=${t("volume.days", { type: type.eventType })} ref=${bars} onKeyDown=${onKeyDown}>
      ${type.days.map(({ day, events }, index) => html`<button
        type="button" key=${day} class="chart-bar" aria-pressed=${chosenDay === day}
        tabindex=${chosenDay === day || (chosenDay === null && index === type.days.length - 1) ? 0 : -1}
        aria-label=${t("volume.day", { day: dayName(day), count: events })}
        title=${t("volume.day", { day: dayName(day), count: events })}
        onClick=${() => chooseDay(day)}>
        <span style=${{ height: `${events === 0 ? 1 : Math.max(3, Math.round((HIGHEST * events) / most))}px` }}></span>
      </button>`)}
    </div>
  </div>`;
}
