/** The page's pictograms, drawn on a grid of 24 with one stroke width. They never stand without words. */

import { html } from "../lib/view.js";

/** @type {Record<string, string>} */
const SHAPES = {
  alert: "M12 9v4m0 4h.01M10.3 3.9 2.4 17.6A2 2 0 0 0 4.1 20.6h15.8a2 2 0 0 0 1.7-3L13.7 3.9a2 2 0 0 0-3.4 0Z",
  archive: "M3 4h18v4H3ZM5 8v12h14V8M10 12h4",
  arrow: "M5 12h14m-6-6 6 6-6 6",
  branch: "M6 3v12m0 0a3 3 0 1 0 0 6 3 3 0 0 0 0-6Zm12-6a3 3 0 1 0 0-6 3 3 0 0 0 0 6Zm0 0a9 9 0 0 1-9 9",
  check: "m5 12.5 4.5 4.5L19 7.5",
  chevron: "m9 6 6 6-6 6",
  circle: "M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16Z",
  clock: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18Zm0 4v5l3.5 2",
  copy: "M9 9h11v11H9ZM5 15H4V4h11v1",
  cross: "M6 6l12 12M18 6 6 18",
  database: "M12 3c4.4 0 8 1.3 8 3s-3.6 3-8 3-8-1.3-8-3 3.6-3 8-3ZM4 6v6c0 1.7 3.6 3 8 3s8-1.3 8-3V6M4 12v6c0 1.7 3.6 3 8 3s8-1.3 8-3v-6",
  dash: "M7 12h10",
  eraser: "m8 20 12.3-12.3a1.5 1.5 0 0 0 0-2.1l-2.9-2.9a1.5 1.5 0 0 0-2.1 0L3.7 14.3a1.5 1.5 0 0 0 0 2.1L7.3 20ZM7 20h13M9 9l6 6",
  filter: "M3 5h18l-7 8.5V19l-4 2v-7.5Z",
  flag: "M5 21V4m0 0h12l-2 4 2 4H5",
  globe: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18ZM3 12h18M12 3c2.5 2.5 3.8 5.5 3.8 9s-1.3 6.5-3.8 9c-2.5-2.5-3.8-5.5-3.8-9S9.5 5.5 12 3Z",
  inbox: "M3 13h5l1.5 3h5L16 13h5M5 5h14l2 8v6H3v-6Z",
  link: "M10 14a4 4 0 0 0 5.7 0l3.6-3.6a4 4 0 0 0-5.7-5.7L12.5 5.8M14 10a4 4 0 0 0-5.7 0l-3.6 3.6a4 4 0 0 0 5.7 5.7l1.1-1.1",
  list: "M8 6h13M8 12h13M8 18h13M3.5 6h.01M3.5 12h.01M3.5 18h.01",
  pause: "M9 5v14M15 5v14",
  pen: "M4 20h4L19 9l-4-4L4 16ZM13 7l4 4",
  person: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8ZM4.5 21a7.5 7.5 0 0 1 15 0",
  play: "M7 4.5 19 12 7 19.5Z",
  question: "M9.2 9a3 3 0 0 1 5.8 1c0 2-3 2.5-3 4.5m0 3.5h.01",
  refresh: "M20 11a8 8 0 0 0-14.5-4L3 9.5M3 4v5.5h5.5M4 13a8 8 0 0 0 14.5 4l2.5-2.5M21 20v-5.5h-5.5",
  repeat: "m17 2 4 4-4 4M3 11V9a3 3 0 0 1 3-3h15M7 22l-4-4 4-4m14-1v2a3 3 0 0 1-3 3H3",
  search: "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14Zm5.2 12.2L21 21",
  send: "M21 3 10 14M21 3l-7 18-4-7-7-4Z",
  skip: "M5 5l9 7-9 7ZM18 5v14",
  upload: "M12 16V4m-5 5 5-5 5 5M4 16v4h16v-4",
};

/** @param {{name: string, className?: string}} props */
export function Icon({ name, className = "" }) {
  return html`<svg class=${`icon ${className}`} viewBox="0 0 24 24" aria-hidden="true" focusable="false">
    <path d=${SHAPES[name]} />
  </svg>`;
}
