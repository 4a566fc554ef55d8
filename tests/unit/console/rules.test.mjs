/** The rules of the page that need no page, in tables. */

import assert from "node:assert/strict";
import { test } from "node:test";

const lib = (name) => import(new URL(`../../../functions/console/static/lib/${name}.js`, import.meta.url));
const { PagedList } = await lib("paged-list");
const { diffLines, withContext } = await lib("diff");
const { problemPlaces } = await lib("json-places");
const { edgesOf, edgesTaken } = await lib("graph-model");
const { visible } = await lib("visible");

const run = (id, status = "running") => ({ id, status });
const listOf = (pages) => new PagedList(async (cursor) => pages[cursor ?? "first"], (row) => row.id, (row) => row.status === "completed");
const ids = (list) => list.rows.map(({ id }) => id).join(" ");

test("pages are read one after another, and none twice at once", async () => {
  const pages = { first: { rows: [run("d"), run("c")], next: "2" }, 2: { rows: [run("b"), run("a")], next: null } };
  const list = listOf(pages);
  await list.begin();
  await Promise.all([list.more(), list.more()]);
  assert.equal(ids(list), "d c b a");
  assert.equal(list.hasMore, false);
});

test("new rows are counted and do not move those that are shown", async () => {
  const pages = { first: { rows: [run("b"), run("a")], next: null } };
  const list = listOf(pages);
  await list.begin();
  pages.first = { rows: [run("c"), run("b", "completed"), run("a")], next: null };
  await list.refresh(0, 10);
  assert.equal(ids(list), "b a");
  assert.equal(list.fresh, 1);
  assert.equal(list.rows[0].status, "completed");
});

test("a row that the filter no longer chooses stays, and is marked", async () => {
  const pages = { first: { rows: [run("c"), run("b"), run("a")], next: null } };
  const list = listOf(pages);
  await list.begin();
  pages.first = { rows: [run("c"), run("a")], next: null };
  await list.refresh(0, 10);
  assert.deepEqual(list.rows.map((row) => Boolean(row.gone)), [false, true, false]);
});

test("rows that new ones push off the first page are not taken to be gone", async () => {
  const pages = { first: { rows: [run("b"), run("a")], next: null } };
  const list = listOf(pages);
  await list.begin();
  pages.first = { rows: [run("d"), run("c"), run("b")], next: "2" };
  await list.refresh(0, 10);
  assert.ok(list.rows.every((row) => !row.gone));
});

test("the first rows of an empty list are shown at once", async () => {
  const pages = { first: { rows: [], next: null } };
  const list = listOf(pages);
  await list.begin();
  pages.first = { rows: [run("a")], next: null };
  await list.refresh(0, 10);
  assert.equal(ids(list), "a");
  assert.equal(list.fresh, 0);
});

test("an answer to a list that was begun anew meanwhile is dropped", async () => {
  let release;
  const held = new Promise((resolve) => (release = resolve));
  const first = { rows: [run("b")], next: "2" };
  const list = new PagedList(async (cursor) => (cursor === null ? first : (await held, { rows: [run("a")], next: null })), (row) => row.id, () => true);
  await list.begin();
  const late = list.more();
  await list.begin();
  release();
  await late;
  assert.equal(ids(list), "b");
});

test("a failure is kept until a reading succeeds", async () => {
  let fails = true;
  const list = new PagedList(async () => { if (fails) throw new Error("no"); return { rows: [], next: null }; }, (row) => row.id, () => true);
  await assert.rejects(list.begin());
  assert.equal(list.error.message, "no");
  fails = false;
  await list.begin();
  assert.equal(list.error, null);
});

for (const [before, after, expected] of [
  ["a\nb\nc", "a\nb\nc", " a| b| c"],
  ["a\nb\nc", "a\nx\nc", " a|-b|+x| c"],
  ["a\nc", "a\nb\nc", " a|+b| c"],
  ["a\nb\nc", "c", "-a|-b| c"],
]) {
  test(`the difference of ${JSON.stringify(before)} and ${JSON.stringify(after)}`, () => {
    const signs = { same: " ", removed: "-", added: "+" };
    const lines = diffLines(before, after);
    const of = (side) => lines.filter((line) => line[side] !== null).map(({ text }) => text).join("\n");
    assert.equal(of("before"), before);
    assert.equal(of("after"), after);
    assert.equal(lines.map(({ kind, text }) => signs[kind] + text).join("|"), expected);
  });
}

test("unchanged lines far from a change are left out", () => {
  const lines = diffLines("1\n2\n3\n4\n5\n6", "1\n2\n3\n4\n5\nsix");
  assert.deepEqual(withContext(lines, 1).map((line) => line && line.text), [null, "5", "6", "six"]);
});

const TEXT = '{\n  "name": "x",\n  "a/b~c": [\n    1,\n    {"deep": true}\n  ]\n}';
for (const [pointer, line] of [["", 0], ["/name", 1], ["/a~1b~0c", 2], ["/a~1b~0c/0", 3], ["/a~1b~0c/1/deep", 4], ["/missing", 0], ["/a~1b~0c/9/x", 2]]) {
  test(`the line of ${pointer || "the whole"}`, () => {
    assert.equal(problemPlaces(TEXT, [{ in: "body", pointer, detail: "" }])[0].line, line);
  });
}

test("a fault of the path stands nowhere in the text", () => {
  assert.deepEqual(problemPlaces(TEXT, [{ in: "path", pointer: "/slug", detail: "bad" }]), [{ line: -1, pointer: "/slug", detail: "bad" }]);
});

test("a text that is no JSON does not keep the problems from being shown", () => {
  assert.equal(problemPlaces('{"a": [1, {', [{ in: "body", pointer: "/a/0", detail: "" }])[0].line, 0);
});

const SPEC = {
  name: "x",
  entries: [{ id: "in", event: "t" }, { id: "late", event: "u", start: "pause" }],
  start: "pick",
  nodes: [
    { id: "pick", type: "choice", branches: [{ when: "a", next: "ask" }, { when: "b", next: "gone" }], otherwise: "end" },
    { id: "ask", type: "validation", outcomes: { yes: "pause", no: "end" } },
    { id: "pause", type: "wait", next: "end", onTimeout: "pick" },
    { id: "keep", type: "memory.write", next: "end", onConflict: "pick" },
    { id: "end", type: "end" },
  ],
};
const WORDS = { otherwise: "else", timeout: "late", conflict: "conflict" };

test("every way on is an edge, but those to nodes that do not exist", () => {
  assert.deepEqual(edgesOf(SPEC, WORDS).map(({ name, to, label }) => `${name} -> ${to} ${label}`.trim()), [
    "entry:in entry -> pick", "entry:late entry -> pause",
    "pick branch:0 -> ask a", "pick otherwise -> end else",
    "ask outcome:yes -> pause yes", "ask outcome:no -> end no",
    "pause next -> end", "pause timeout -> pick late",
    "keep next -> end", "keep conflict -> pick conflict",
  ]);
});

for (const [node, output, way] of [
  ["pick", { branch: 0, next: "ask" }, "branch:0"],
  ["pick", { branch: null, next: "end" }, "otherwise"],
  ["ask", { outcome: "no" }, "outcome:no"],
  ["pause", { resumed: true }, "next"],
  ["pause", { resumed: false }, "timeout"],
  ["keep", { version: 1, conflict: false }, "next"],
  ["keep", { conflict: true, currentVersion: 2 }, "conflict"],
]) {
  test(`${node} went on by ${way}`, () => {
    const trace = [{ node, status: "completed", output }];
    assert.deepEqual([...edgesTaken(SPEC, { trace, pending: null, waiting: null }, "in")], ["entry:in entry", `${node} ${way}`]);
  });
}

test("a visit that failed went nowhere, and of several entries only the known one was taken", () => {
  const snapshot = { trace: [{ node: "pick", status: "failed", output: null }], pending: null, waiting: null };
  assert.deepEqual([...edgesTaken(SPEC, snapshot, null)], []);
});

test("a beginning that a later one has overtaken is dropped", async () => {
  const answers = [];
  const list = new PagedList(() => new Promise((answer) => answers.push(answer)), (row) => row.id, () => false);
  const beginnings = [list.begin(), list.begin()];
  answers[1]({ rows: [run("b"), run("a")], next: null });
  answers[0]({ rows: [run("a")], next: null });
  await Promise.all(beginnings);
  assert.equal(ids(list), "b a");
});

for (const [text, shown] of [
  ["p-\u202e24", "p-\\u202e24"],
  ["a\u200bb\u0000c\ufeff", "a\\u200bb\\u0000c\\ufeff"],
  ["two\nlines\tand\ra tab", "two\nlines\tand\ra tab"],
  ["Ada Müller · שלום · می\u200cخواهم · 👩\u200d⚕️ · 4\u202f°C", "Ada Müller · שלום · می\u200cخواهم · 👩\u200d⚕️ · 4\u202f°C"],
]) {
  test(`what is seen of ${JSON.stringify(text)}`, () => assert.equal(visible(text), shown));
}
