/** Times, durations and numbers as people read them. */

import { currentLocale, t } from "./i18n.js";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** @type {[Intl.RelativeTimeFormatUnit, number][]} */
const UNITS = [
  ["year", 365 * DAY],
  ["month", 30 * DAY],
  ["day", DAY],
  ["hour", HOUR],
  ["minute", MINUTE],
  ["second", SECOND],
];

/** @type {Map<string, any>} */
const formats = new Map();

/**
 * A format of `Intl`, made once: making one takes longer than using it.
 * @template T
 * @param {string} name
 * @param {(locale: string) => T} make
 * @returns {T}
 */
function format(name, make) {
  if (!formats.has(name)) formats.set(name, make(currentLocale()));
  return formats.get(name);
}

/**
 * "3 minutes ago", or "in 2 days".
 * @param {string} instant ISO 8601
 * @param {number} now in milliseconds
 */
export function relativeTime(instant, now) {
  const distance = Date.parse(instant) - now;
  const size = Math.abs(distance);
  if (size < 5 * SECOND) return t("time.now");
  const [unit, length] = UNITS.find(([, each]) => size >= each) ?? ["second", SECOND];
  const relative = format("relative", (locale) => new Intl.RelativeTimeFormat(locale, { style: "short" }));
  return relative.format(Math.trunc(distance / length), unit);
}

/**
 * The exact time here, to the second.
 * @param {string} instant ISO 8601
 */
export function exactTime(instant) {
  /** @type {Intl.DateTimeFormatOptions} */
  const options = { dateStyle: "medium", timeStyle: "medium" };
  return format("exact", (locale) => new Intl.DateTimeFormat(locale, options)).format(new Date(instant));
}

/**
 * The time of day here, with milliseconds where nodes follow each other within one second.
 * @param {string} instant ISO 8601
 */
export function timeOfDay(instant) {
  /** @type {Intl.DateTimeFormatOptions} */
  const options = { hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3 };
  return format("timeOfDay", (locale) => new Intl.DateTimeFormat(locale, options)).format(new Date(instant));
}

/**
 * "Mon 24 Nov" of a UTC day.
 * @param {string} day as 2026-11-24
 */
export function dayName(day) {
  /** @type {Intl.DateTimeFormatOptions} */
  const options = { weekday: "short", day: "numeric", month: "short", timeZone: "UTC" };
  return format("day", (locale) => new Intl.DateTimeFormat(locale, options)).format(new Date(`${day}T00:00:00Z`));
}

/**
 * A length of time in its two largest units: "2 d 4 h", "340 ms".
 * @param {number} milliseconds
 */
export function duration(milliseconds) {
  if (milliseconds < SECOND) return `${Math.max(0, Math.round(milliseconds))} ms`;
  if (milliseconds < MINUTE) return `${number(Math.round(milliseconds / 100) / 10)} s`;
  if (milliseconds < HOUR) return pair(milliseconds, MINUTE, "min", SECOND, "s");
  if (milliseconds < DAY) return pair(milliseconds, HOUR, "h", MINUTE, "min");
  return pair(milliseconds, DAY, t("time.days"), HOUR, "h");
}

/**
 * @param {number} milliseconds
 * @param {number} large
 * @param {string} largeName
 * @param {number} small
 * @param {string} smallName
 */
function pair(milliseconds, large, largeName, small, smallName) {
  const first = Math.floor(milliseconds / large);
  const second = Math.floor((milliseconds % large) / small);
  return second === 0 ? `${first} ${largeName}` : `${first} ${largeName} ${second} ${smallName}`;
}

/**
 * Milliseconds from one instant to another.
 * @param {string} from ISO 8601
 * @param {string} to ISO 8601
 */
export const between = (from, to) => Date.parse(to) - Date.parse(from);

/** @param {number} value */
export function number(value) {
  return format("number", (locale) => new Intl.NumberFormat(locale)).format(value);
}

/**
 * The day after a UTC day.
 * @param {string} day as 2026-11-24
 */
export const dayAfter = (day) => new Date(Date.parse(`${day}T00:00:00Z`) + DAY).toISOString().slice(0, 10);
