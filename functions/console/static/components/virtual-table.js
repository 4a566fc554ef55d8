/**
 * A table of any length, of which only the rows in sight are in the document.
 *
 * The style sheet gives every row the same height, so that the place of a row follows from its number alone. Assistive technology is told the true numbers.
 */

import { html, useLayoutEffect, useRef, useState } from "../lib/view.js";

const AROUND = 12; // rows kept on either side of those in sight
const STEP = 6; // the range moves by as many rows at once

/**
 * @typedef {object} Column
 * @property {string} key
 * @property {string} label
 *
 * @param {{
 *   className: string, caption: string, columns: Column[], rows: any[], hasMore: boolean,
 *   rowKey: (row: any) => string, rowClass?: (row: any) => string, cells: (row: any) => any[],
 *   onSight: (from: number, to: number) => void, restoreScroll: number,
 * }} props
 */
export function VirtualTable(props) {
  const { className, caption, columns, rows, hasMore, rowKey, rowClass, cells, onSight, restoreScroll } = props;
  const body = useRef(/** @type {HTMLTableSectionElement | null} */ (null));
  const height = useRef(52); // of a row, in pixels; measured as soon as there is one
  const [range, setRange] = useState({ from: 0, to: 40 });
  const told = useRef(onSight);
  told.current = onSight;

  useLayoutEffect(() => {
    const table = /** @type {HTMLTableSectionElement} */ (body.current);
    let frame = 0;
    const measure = () => {
      frame = 0;
      height.current = table.querySelector("tr:not(.spacer)")?.getBoundingClientRect().height ?? height.current;
      const top = -table.getBoundingClientRect().top;
      const first = Math.floor(top / height.current);
      const last = Math.ceil((top + innerHeight) / height.current);
      told.current(Math.max(0, first), Math.max(0, last));
      const from = Math.max(0, STEP * Math.floor((first - AROUND) / STEP));
      const to = Math.max(0, STEP * Math.ceil((last + AROUND) / STEP));
      setRange((known) => (known.from === from && known.to === to ? known : { from, to }));
    };
    const soon = () => {
      if (frame === 0) frame = requestAnimationFrame(measure);
    };
    measure();
    addEventListener("scroll", soon, { passive: true });
    addEventListener("resize", soon);
    return () => {
      cancelAnimationFrame(frame);
      removeEventListener("scroll", soon);
      removeEventListener("resize", soon);
    };
  }, [rows.length]);

  useLayoutEffect(() => {
    if (restoreScroll > 0) scrollTo({ top: restoreScroll });
  }, []);

  const from = Math.min(range.from, rows.length);
  const to = Math.min(range.to, rows.length);
  return html`<table class=${className} aria-rowcount=${hasMore ? -1 : rows.length + 1}>
    <caption class="visually-hidden">${caption}</caption>
    <thead>
      <tr aria-rowindex="1">
        ${columns.map((column) => html`<th key=${column.key} scope="col" class=${`column-${column.key}`}>${column.label}</th>`)}
      </tr>
    </thead>
    <tbody ref=${body}>
      ${from > 0 && html`<tr key="above" class="spacer" aria-hidden="true"><td colspan=${columns.length} style=${{ height: `${from * height.current}px` }}></td></tr>`}
      ${rows.slice(from, to).map((row, index) => {
        const contents = cells(row);
        return html`<tr key=${rowKey(row)} class=${rowClass?.(row)} aria-rowindex=${from + index + 2}>
          ${columns.map((column, at) => html`<td key=${column.key} class=${`column-${column.key}`}>${contents[at]}</td>`)}
        </tr>`;
      })}
      ${to < rows.length && html`<tr key="below" class="spacer" aria-hidden="true"><td colspan=${columns.length} style=${{ height: `${(rows.length - to) * height.current}px` }}></td></tr>`}
    </tbody>
  </table>`;
}
