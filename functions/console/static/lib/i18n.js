/** The page in the browser's language: one catalogue per language, read before anything is shown. */

const LANGUAGES = ["en", "fr"];

/** @type {Record<string, string>} */
let messages = {};
let locale = "en";
let plurals = new Intl.PluralRules("en");
let numbers = new Intl.NumberFormat("en");

/** The language's tag, for `Intl`. */
export const currentLocale = () => locale;

/** Chooses the first language of the browser that there is a catalogue for, and reads it. */
export async function loadMessages() {
  const wanted = navigator.languages.find((tag) => LANGUAGES.includes(tag.slice(0, 2).toLowerCase())) ?? "en";
  const language = wanted.slice(0, 2).toLowerCase();
  const answer = await fetch(new URL(`../i18n/${language}.json`, import.meta.url));
  messages = await answer.json();
  locale = wanted;
  plurals = new Intl.PluralRules(wanted);
  numbers = new Intl.NumberFormat(wanted);
  document.documentElement.lang = language;
}

/**
 * The message of a key, with `{name}` replaced by `values.name`. With a `count`, the form that it takes.
 * @param {string} key
 * @param {Record<string, string | number>} [values]
 * @returns {string}
 */
export function t(key, values = {}) {
  const message = messages[key] ?? pluralForm(key, values.count) ?? key;
  return message.replace(/\{(\w+)\}/g, (placeholder, name) =>
    name === "count" ? numbers.format(Number(values.count)) : String(values[name] ?? placeholder),
  );
}

/**
 * @param {string} key
 * @param {string | number | undefined} count
 */
function pluralForm(key, count) {
  if (typeof count !== "number") return undefined;
  return messages[`${key}.${plurals.select(count)}`] ?? messages[`${key}.other`];
}

/** @param {string} key */
export const has = (key) => key in messages;
