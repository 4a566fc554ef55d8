/** What a component is written with: templates, and the hooks of Preact. */

import { h } from "../vendor/preact.js";
import htm from "../vendor/htm.js";
import { visible } from "./visible.js";

/**
 * An element whose texts are shown as what they are, wherever they come from.
 * @param {any} type
 * @param {any} properties
 * @param {...any} children
 */
const element = (type, properties, ...children) => h(type, properties, ...children.map(seen));

/** @type {(child: any) => any} */
const seen = (child) => (typeof child === "string" ? visible(child) : Array.isArray(child) ? child.map(seen) : child);

export const html = htm.bind(element);
export { render } from "../vendor/preact.js";
export { useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from "../vendor/preact-hooks.js";

/**
 * The class names that hold, joined.
 * @param {...(string | false | null | undefined)} names
 */
export const classes = (...names) => names.filter(Boolean).join(" ");
