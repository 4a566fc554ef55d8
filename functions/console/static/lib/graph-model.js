/** A definition as a graph, and the way that a run took through it. Rules without a page. */

/**
 * @typedef {import("./types.js").Spec} Spec
 * @typedef {import("./types.js").SpecNode} SpecNode
 * @typedef {import("./types.js").Snapshot} Snapshot
 *
 * @typedef {object} Edge
 * @property {string} name unique in the graph
 * @property {string} from
 * @property {string} to
 * @property {string} label the condition, or the outcome, that leads along it; "" for the plain way on
 */

/** Before the id of an entry, which shares no names with nodes. */
export const ENTRY = "entry:";

/**
 * All edges of a definition, those from its entries included. Edges to nodes that do not exist are left out.
 * @param {Spec} spec
 * @param {{otherwise: string, timeout: string, conflict: string}} words
 * @returns {Edge[]}
 */
export function edgesOf(spec, words) {
  const known = new Set(spec.nodes.map(({ id }) => id));
  const entries = spec.entries.map((entry) => edge(`${ENTRY}${entry.id}`, entry.start ?? spec.start, "", "entry"));
  return [...entries, ...spec.nodes.flatMap((node) => edgesFrom(node, words))].filter(({ to }) => known.has(to));
}

/**
 * @param {SpecNode} node
 * @param {{otherwise: string, timeout: string, conflict: string}} words
 * @returns {Edge[]}
 */
function edgesFrom(node, words) {
  const { id } = node;
  /** @type {Edge[]} */
  const edges = [];
  (node.branches ?? []).forEach((/** @type {{when: string, next: string}} */ branch, /** @type {number} */ index) =>
    edges.push(edge(id, branch.next, branch.when, `branch:${index}`)),
  );
  if (node.otherwise) edges.push(edge(id, node.otherwise, words.otherwise, "otherwise"));
  for (const [outcome, target] of Object.entries(node.outcomes ?? {})) {
    edges.push(edge(id, String(target), outcome, `outcome:${outcome}`));
  }
  if (node.next) edges.push(edge(id, node.next, "", "next"));
  if (node.onTimeout) edges.push(edge(id, node.onTimeout, words.timeout, "timeout"));
  if (node.onConflict) edges.push(edge(id, node.onConflict, words.conflict, "conflict"));
  return edges;
}

/**
 * @param {string} from
 * @param {string} to
 * @param {string} label
 * @param {string} way
 */
const edge = (from, to, label, way) => ({ name: `${from} ${way}`, from, to, label });

/**
 * The names of the edges that a run went along.
 * @param {Spec} spec
 * @param {Snapshot} snapshot
 * @param {string | null} triggerId the entry, for a workflow with several
 * @returns {Set<string>}
 */
export function edgesTaken(spec, snapshot, triggerId) {
  const nodes = new Map(spec.nodes.map((node) => [node.id, node]));
  const taken = new Set();
  const first = snapshot.trace[0]?.node ?? snapshot.pending?.node ?? snapshot.waiting?.node;
  const entry = spec.entries.find(({ id }) => id === triggerId) ?? (spec.entries.length === 1 ? spec.entries[0] : null);
  if (first !== undefined && entry) taken.add(`${ENTRY}${entry.id} entry`);
  for (const visit of snapshot.trace) {
    const node = nodes.get(visit.node);
    const way = node !== undefined && visit.status === "completed" ? wayOn(node, visit.output) : null;
    if (way !== null) taken.add(`${visit.node} ${way}`);
  }
  return taken;
}

/**
 * The way on that a finished visit took, by what came of it.
 * @param {SpecNode} node
 * @param {any} output
 * @returns {string | null} null at an end
 */
function wayOn(node, output) {
  if (node.type === "choice") return typeof output?.branch === "number" ? `branch:${output.branch}` : "otherwise";
  if (node.type === "validation") return `outcome:${output?.outcome}`;
  if (node.type === "wait" && node.onTimeout && output?.resumed === false) return "timeout";
  if (node.onConflict && output?.conflict === true) return "conflict";
  return node.next ? "next" : null;
}
