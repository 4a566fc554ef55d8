/**
 * JSON that keeps every digit: a laboratory's 6.10 is shown as 6.10, and sent as 6.10.
 *
 * A number that JavaScript would write differently is kept as `JSON.rawJSON`, which `JSON.stringify` writes as it
 * was read. Browsers without source text access (before 2025) show such numbers as JavaScript does.
 */

/**
 * @typedef {JSON & {rawJSON?: (text: string) => object, isRawJSON?: (value: unknown) => boolean}} SourceAccess
 */
const sourceAccess = /** @type {SourceAccess} */ (JSON);

/**
 * @param {string} text
 * @returns {any}
 * @throws {SyntaxError}
 */
export function parse(text) {
  const { rawJSON } = sourceAccess;
  if (rawJSON === undefined) return JSON.parse(text);
  /** @type {(this: unknown, key: string, value: unknown, context: {source?: string}) => unknown} */
  const keepDigits = (_key, value, context) =>
    typeof value === "number" && context.source !== undefined && String(value) !== context.source
      ? rawJSON(context.source)
      : value;
  return JSON.parse(text, /** @type {any} */ (keepDigits));
}

/** @param {unknown} value */
export const compact = (value) => JSON.stringify(value) ?? "";

/** @param {unknown} value */
export const pretty = (value) => JSON.stringify(value, null, 2) ?? "";
