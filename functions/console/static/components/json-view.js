/** JSON as it was written, every digit of it, with its parts told apart by colour. */

import { pretty } from "../lib/json.js";
import { html } from "../lib/view.js";

const TOKEN = /("(?:\\.|[^"\\])*")(\s*:)?|\b(?:true|false|null)\b|-?\d[\d.eE+-]*/g;
const MOST_COLOURED = 50_000; // characters; longer texts are shown plain, so that the page stays quick

/** @param {{value: unknown, label?: string}} props */
export function JsonView({ value, label }) {
  const text = pretty(value);
  return html`<pre class="json" tabindex="0" aria-label=${label}>${text.length > MOST_COLOURED ? text : coloured(text)}</pre>`;
}

/** @param {string} text */
function coloured(text) {
  const parts = [];
  let end = 0;
  for (const match of text.matchAll(TOKEN)) {
    parts.push(text.slice(end, match.index));
    const [token, quoted, colon] = match;
    if (quoted !== undefined && colon !== undefined) parts.push(html`<span class="json-name">${quoted}</span>`, colon);
    else parts.push(html`<span class=${quoted !== undefined ? "json-text" : "json-value"}>${token}</span>`);
    end = match.index + token.length;
  }
  parts.push(text.slice(end));
  return parts;
}
