/** Where a JSON pointer, or a mistake, stands in the text of a document. */

/**
 * @typedef {object} Problem
 * @property {number} line from 0; -1 where the problem has no place in the text
 * @property {string} pointer
 * @property {string} detail
 */

const TOKEN = /[\s,:]*("(?:\\.|[^"\\])*"|[{}[\]]|[^\s,:{}[\]"]+)/y;

/**
 * The place of each fault of a body: its own, or that of the nearest part that stands in the text.
 * @param {string} text
 * @param {import("./api.js").FieldFault[]} faults
 * @returns {Problem[]}
 */
export function problemPlaces(text, faults) {
  const lines = linesByPointer(text);
  return faults.map(({ in: place, pointer, detail }) => {
    let near = pointer;
    while (!lines.has(near) && near !== "") near = near.slice(0, near.lastIndexOf("/"));
    return { line: place === "body" ? (lines.get(near) ?? -1) : -1, pointer: pointer || place, detail };
  });
}

/**
 * The line of every value, by its JSON pointer. A text that is no JSON gives those before the mistake.
 * @param {string} text
 * @returns {Map<string, number>}
 */
function linesByPointer(text) {
  const lines = new Map();
  const token = new RegExp(TOKEN);
  let line = 0;
  let counted = 0;
  let ended = false;
  const next = () => {
    const match = ended ? null : token.exec(text);
    if (match === null) {
      ended = true; // the expression itself would begin again
      return null;
    }
    const start = token.lastIndex - match[1].length;
    for (; counted < start; counted++) if (text[counted] === "\n") line++;
    return match[1];
  };
  /**
   * @param {string | null} first the value's first token
   * @param {string} pointer
   */
  const value = (first, pointer) => {
    if (first === null || first === "}" || first === "]") return;
    if (!lines.has(pointer)) lines.set(pointer, line);
    if (first === "{") {
      for (let name = next(); name !== null && name !== "}"; name = next()) {
        const member = `${pointer}/${escaped(name)}`;
        lines.set(member, line);
        value(next(), member);
      }
    } else if (first === "[") {
      let index = 0;
      for (let item = next(); item !== null && item !== "]"; item = next()) value(item, `${pointer}/${index++}`);
    }
  };
  value(next(), "");
  return lines;
}

/**
 * A name as a pointer writes it (RFC 6901).
 * @param {string} quoted
 */
function escaped(quoted) {
  let name = quoted;
  try {
    name = JSON.parse(quoted);
  } catch {
    // not a string: the text is no JSON, and the name stands as it is
  }
  return String(name).replaceAll("~", "~0").replaceAll("/", "~1");
}
