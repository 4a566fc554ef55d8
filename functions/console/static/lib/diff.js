/** The differences of two texts, line by line: the fewest lines taken out and put in. */

/**
 * @typedef {object} DiffLine
 * @property {"same" | "removed" | "added"} kind
 * @property {string} text
 * @property {number | null} before its number in the first text, from 1
 * @property {number | null} after its number in the second
 */

/**
 * @param {string} before
 * @param {string} after
 * @returns {DiffLine[]}
 */
export function diffLines(before, after) {
  const one = before.split("\n");
  const other = after.split("\n");
  let head = 0;
  while (head < one.length && head < other.length && one[head] === other[head]) head++;
  let tail = 0;
  while (tail < one.length - head && tail < other.length - head && one.at(-1 - tail) === other.at(-1 - tail)) tail++;

  /** @type {DiffLine[]} */
  const lines = [];
  let [left, right] = [0, 0];
  const same = () => lines.push({ kind: "same", text: one[left], before: ++left, after: ++right });
  const removed = () => lines.push({ kind: "removed", text: one[left], before: ++left, after: null });
  const added = () => lines.push({ kind: "added", text: other[right], before: null, after: ++right });

  const [endLeft, endRight] = [one.length - tail, other.length - tail];
  const longest = commonLengths(one.slice(head, endLeft), other.slice(head, endRight));
  while (left < head) same();
  while (left < endLeft && right < endRight) {
    if (one[left] === other[right]) same();
    else if (longest[left - head + 1][right - head] >= longest[left - head][right - head + 1]) removed();
    else added();
  }
  while (left < endLeft) removed();
  while (right < endRight) added();
  while (left < one.length) same();
  return lines;
}

/**
 * How many lines the rests of both have in common, for every pair of places.
 * @param {string[]} one
 * @param {string[]} other
 */
function commonLengths(one, other) {
  const lengths = Array.from({ length: one.length + 1 }, () => new Uint32Array(other.length + 1));
  for (let i = one.length - 1; i >= 0; i--) {
    for (let j = other.length - 1; j >= 0; j--) {
      lengths[i][j] = one[i] === other[j] ? lengths[i + 1][j + 1] + 1 : Math.max(lengths[i + 1][j], lengths[i][j + 1]);
    }
  }
  return lengths;
}

/**
 * The lines worth showing: the changed ones with `around` lines on either side; null stands for those left out.
 * @param {DiffLine[]} lines
 * @param {number} around
 * @returns {(DiffLine | null)[]}
 */
export function withContext(lines, around) {
  const shown = new Set();
  lines.forEach(({ kind }, index) => {
    if (kind === "same") return;
    for (let near = index - around; near <= index + around; near++) shown.add(near);
  });
  /** @type {(DiffLine | null)[]} */
  const kept = [];
  lines.forEach((line, index) => {
    if (shown.has(index)) kept.push(line);
    else if (kept.at(-1) !== null) kept.push(null);
  });
  return kept;
}
