/** A definition drawn as a graph, with the state of each node and the way that a run took. */

import { edgesOf, edgesTaken, ENTRY } from "../lib/graph-model.js";
import { t } from "../lib/i18n.js";
import { classes, html, useEffect, useMemo, useRef } from "../lib/view.js";
import { Graph as Layout, layout } from "../vendor/dagre.js";
import { Icon } from "./icon.js";
import { StatusMark } from "./status.js";

const NODE = { width: 188, height: 48 };
const ENTRY_NODE = { width: 176, height: 28 };
const LABEL_LENGTH = 22;
const LABEL = { height: 20, perCharacter: 6.6, padding: 14 };

/** @type {Record<string, string>} */
export const NODE_ICONS = {
  set: "pen",
  choice: "branch",
  validation: "person",
  wait: "clock",
  http: "globe",
  "memory.read": "database",
  "memory.write": "database",
  "memory.forget": "eraser",
  end: "flag",
  fail: "cross",
};

/**
 * @typedef {import("../lib/types.js").Spec} Spec
 * @typedef {import("../lib/types.js").SpecNode} SpecNode
 * @typedef {import("../lib/types.js").Snapshot} Snapshot
 *
 * @param {{
 *   spec: Spec, label: string, snapshot?: Snapshot | null, nodeStatus?: Record<string, string>,
 *   triggerId?: string | null, selected: string | null, onSelect: (node: string) => void,
 * }} props without a snapshot the definition alone is drawn
 */
export function Graph({ spec, label, snapshot = null, nodeStatus, triggerId = null, selected, onSelect }) {
  const drawing = useMemo(() => arrange(spec), [spec]);
  const taken = snapshot === null ? new Set() : edgesTaken(spec, snapshot, triggerId);
  const pane = useRef(/** @type {HTMLElement | null} */ (null));
  const current = snapshot?.pending?.node ?? snapshot?.waiting?.node ?? null;
  useEffect(() => {
    // A graph that is larger than its pane is shown at the node that waits, else at the middle of its beginning.
    const open = drawing.nodes.find(({ node }) => node.id === current);
    if (pane.current) {
      pane.current.scrollLeft = (open?.x ?? drawing.width / 2) - pane.current.clientWidth / 2;
      pane.current.scrollTop = open === undefined ? 0 : open.y - pane.current.clientHeight / 2;
    }
  }, [drawing, current]);
  const size = { width: `${drawing.width}px`, height: `${drawing.height}px` };
  const edges = [...drawing.edges].sort((one, other) => Number(taken.has(one.name)) - Number(taken.has(other.name)));
  return html`<div class=${classes("graph", snapshot !== null && "graph-of-run")} role="group" aria-label=${label} tabindex="0" ref=${pane}>
    <div class="graph-canvas" style=${size}>
      <svg width=${drawing.width} height=${drawing.height} aria-hidden="true" focusable="false">
        <defs>
          ${["idle", "taken"].map((kind) => html`<marker key=${kind} id=${`arrow-${kind}`} class=${`arrow-${kind}`}
            viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8Z" /></marker>`)}
        </defs>
        ${edges.map((edge) => {
          const kind = taken.has(edge.name) ? "taken" : "idle";
          return html`<path key=${edge.name} class=${`edge edge-${kind}`} d=${edge.path} marker-end=${`url(#arrow-${kind})`} />`;
        })}
      </svg>
      ${drawing.edges.map((edge) => edge.label && html`<span key=${edge.name} aria-hidden="true" title=${edge.label}
        class=${classes("edge-label", taken.has(edge.name) && "edge-label-taken")} style=${at(edge)}>${shortened(edge.label)}</span>`)}
      ${drawing.entries.map((entry) => html`<div key=${entry.id} class=${classes("entry-node", taken.has(`${ENTRY}${entry.id} entry`) && "entry-taken")}
        style=${at(entry)} title=${entry.selector}>${entry.event}</div>`)}
      ${drawing.nodes.map(({ node, ...box }) => html`<${Node} key=${node.id} node=${node} box=${box}
        status=${nodeStatus?.[node.id]} selected=${selected === node.id} onSelect=${onSelect} />`)}
    </div>
  </div>`;
}

/** @param {{node: SpecNode, box: Box, status?: string, selected: boolean, onSelect: (node: string) => void}} props */
function Node({ node, box, status, selected, onSelect }) {
  const title = node.title ?? node.id;
  return html`<button type="button" class=${classes("node", `node-${status ?? "plain"}`)} style=${at(box)} aria-pressed=${selected}
    title=${title} onClick=${() => onSelect(node.id)}>
    <${Icon} name=${NODE_ICONS[node.type] ?? "circle"} className="node-icon" />
    <span class="node-text">
      <span class="node-title">${title}</span>
      <span class="node-type">${t(`node.${node.type}`)}${status && ` · ${t(`status.${status}`)}`}</span>
    </span>
    ${status && status !== "idle" && status !== "skipped" && html`<${StatusMark} status=${status} />`}
  </button>`;
}

/** @typedef {{x: number, y: number, width: number, height: number}} Box around its middle */

/** @param {Box} box */
const at = ({ x, y, width, height }) => ({
  left: `${x - width / 2}px`,
  top: `${y - height / 2}px`,
  width: `${width}px`,
  height: `${height}px`,
});

/** @param {string} label */
const shortened = (label) => (label.length > LABEL_LENGTH ? `${label.slice(0, LABEL_LENGTH - 1)}…` : label);

/** @param {Spec} spec */
function arrange(spec) {
  const graph = new Layout({ multigraph: true });
  graph.setGraph({ rankdir: "TB", nodesep: 24, ranksep: 30, edgesep: 16, marginx: 12, marginy: 12 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const entry of spec.entries) graph.setNode(`${ENTRY}${entry.id}`, { ...ENTRY_NODE });
  for (const node of spec.nodes) graph.setNode(node.id, { ...NODE });
  const words = { otherwise: t("edge.otherwise"), timeout: t("edge.timeout"), conflict: t("edge.conflict") };
  const edges = edgesOf(spec, words);
  for (const edge of edges) {
    const length = Math.min(edge.label.length, LABEL_LENGTH);
    const box = edge.label ? { width: length * LABEL.perCharacter + LABEL.padding, height: LABEL.height, labelpos: "c" } : {};
    graph.setEdge(edge.from, edge.to, box, edge.name);
  }
  layout(graph);
  const { width = 0, height = 0 } = /** @type {{width?: number, height?: number}} */ (graph.graph());
  return {
    width: Math.ceil(width),
    height: Math.ceil(height),
    nodes: spec.nodes.map((node) => ({ node, ...boxOf(graph.node(node.id)) })),
    entries: spec.entries.map((entry) => ({ ...entry, ...boxOf(graph.node(`${ENTRY}${entry.id}`)) })),
    edges: edges.map((edge) => {
      const placed = /** @type {any} */ (graph.edge(edge.from, edge.to, edge.name));
      const path = edge.from === edge.to ? loop(boxOf(graph.node(edge.from)), placed.x) : smooth(placed.points);
      return { ...edge, ...boxOf(placed), path };
    }),
  };
}

/**
 * @param {any} placed
 * @returns {Box}
 */
const boxOf = ({ x, y, width, height }) => ({ x, y, width, height });

/**
 * A path from the side of a node back to it, around its label. The layout keeps the place for it, but its own points
 * of such an edge lead astray.
 * @param {Box} node
 * @param {number} labelX the middle of the label
 */
function loop({ x, y, width }, labelX) {
  const side = x + width / 2;
  const bend = side + (4 / 3) * Math.max(labelX - side, 18); // of a cubic curve that reaches three quarters of it
  return `M${side} ${y - 12}C${bend} ${y - 24} ${bend} ${y + 24} ${side} ${y + 12}`;
}

/**
 * A path through points, round at each but the first and the last.
 * @param {{x: number, y: number}[]} points
 */
function smooth(points) {
  const [first, ...rest] = points;
  const last = points[points.length - 1];
  const bends = rest.slice(0, -1).map((point, index) => {
    const next = rest[index + 1];
    const end = index === rest.length - 2 ? next : { x: (point.x + next.x) / 2, y: (point.y + next.y) / 2 };
    return `Q${point.x} ${point.y} ${end.x} ${end.y}`;
  });
  return `M${first.x} ${first.y}${bends.join("")}${bends.length === 0 ? `L${last.x} ${last.y}` : ""}`;
}
