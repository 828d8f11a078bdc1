import assert from "node:assert/strict";
import { storeLimits } from "../../store/index.js";
import {
  apply,
  awkwardKeys,
  between,
  bytes,
  change,
  type Declare,
  exactly,
  place,
  plainCell,
  put,
  range,
  raw,
  row,
  table,
  taking,
} from "./harness.js";

/** A table's name of the most bytes, which differs from another one in its last byte only. */
const longName = (last: string) => "n".repeat(storeLimits.tableBytes - 1) + last;
const tableNames = ["a", "ab", "a0", "A", "constructor", "__proto__", longName("1"), longName("2")];

/** Bytes within a larger buffer, which are not a `Buffer`. */
function within(value: string): Uint8Array {
  const whole = new Uint8Array(bytes(`<${value}>`));
  return whole.subarray(1, -1);
}

const inByteOrder = [...awkwardKeys].sort((a, b) => Buffer.compare(bytes(a), bytes(b)));

/** Tests that rows and columns are ordered by their bytes. */
export function orderTests(test: Declare): void {
  test("rows are in the order of their bytes, including empty rows, NUL and 0xFF", async (store) => {
    for (const key of [...awkwardKeys].reverse()) await apply(store, key, put("c", "write", 1, key));
    assert.deepEqual(
      (await range(store)).map((each) => each.row),
      inByteOrder,
    );
    for (const key of awkwardKeys) {
      assert.deepEqual(await row(store, key), [{ column: "c", write: `1=${key}`, latest: true }]);
    }
  });

  test("columns are in the order of their bytes, including the empty column", async (store) => {
    for (const key of [...awkwardKeys].reverse()) await apply(store, "r", put(key, "write", 1, key));
    assert.deepEqual(
      (await row(store, "r")).map((cell) => cell.column),
      inByteOrder,
    );
    for (const key of awkwardKeys) {
      const shown = await row(store, "r", { columns: exactly(key) });
      assert.deepEqual(shown, [{ column: key, write: `1=${key}`, latest: true }]);
    }
  });

  test("if one row key is a prefix of another, their columns stay separate", async (store) => {
    for (const name of awkwardKeys) {
      await apply(store, name, ...awkwardKeys.map((column) => put(column, "write", 1, `${name}|${column}`)));
    }
    for (const name of awkwardKeys) {
      const shown = await row(store, name);
      assert.deepEqual(
        shown.map((cell) => [cell.column, cell.write]),
        inByteOrder.map((column) => [column, `1=${name}|${column}`]),
      );
    }
  });

  test("a range includes its start and excludes its end, at rows and within them", async (store) => {
    for (const name of awkwardKeys) {
      await apply(store, name, ...awkwardKeys.map((column) => put(column, "write", 1, "")));
    }
    const places = inByteOrder.flatMap((name) => inByteOrder.map((column) => [name, column] as const));
    for (const [i, j] of [
      [0, 40],
      [1, 2],
      [30, 200],
      [100, 100],
      [200, 100],
      [300, places.length - 1],
    ] as const) {
      const start = place(...places[i]!);
      const end = place(...places[j]!);
      const expected = places.slice(i, Math.max(i, j)).map(([name, column]) => `${name}|${column}`);
      const shown = await range(store, { start, end });
      assert.deepEqual(
        shown.flatMap((each) => each.cells.map((cell) => `${each.row}|${cell.column}`)),
        expected,
      );
      if (!store.capabilities.reverseScans) continue;
      const reversed = await range(store, { start, end, reverse: true });
      assert.deepEqual(
        reversed.reverse().flatMap((each) => each.cells.map((cell) => `${each.row}|${cell.column}`)),
        expected,
      );
    }
    for (const name of inByteOrder) {
      const rows = await range(store, { start: place(name) });
      assert.equal(rows[0]!.row, name);
      const before = await range(store, { end: place(name), columns: exactly("a") });
      assert.deepEqual(
        before.map((each) => each.row),
        inByteOrder.slice(0, inByteOrder.indexOf(name)),
      );
    }
  });

  test("column ranges include their start and exclude their end", async (store) => {
    await apply(store, "r", ...awkwardKeys.map((column) => put(column, "write", 1, "")));
    for (let i = 0; i < inByteOrder.length; i++) {
      for (let j = i; j <= inByteOrder.length; j++) {
        const columns = between(inByteOrder[i]!, inByteOrder[j]);
        const shown = await row(store, "r", { columns });
        const expected = inByteOrder.slice(i, j);
        assert.deepEqual(
          shown.map((cell) => cell.column),
          expected,
        );
        const rows = await range(store, { columns });
        assert.deepEqual(
          rows.flatMap((each) => each.cells.map((cell) => cell.column)),
          expected,
        );
      }
    }
  });

  test("tables are separate, even if one's name is a prefix of another's", async (store) => {
    await store.prepare(tableNames);
    await store.prepare(["a"]);
    for (const inTable of tableNames) {
      const answer = await store.mutate(change("r", [put("c", "write", 1, inTable)], [], inTable));
      assert.equal(answer, "applied");
    }
    for (const inTable of tableNames) {
      const shown = await range(store, { table: inTable });
      assert.deepEqual(shown, [{ row: "r", cells: [{ column: "c", write: `1=${inTable}`, latest: true }] }]);
    }
  });

  test("keys and values may be any Uint8Array, such as a part of a larger buffer", async (store) => {
    const [name, column, value] = [within("r"), within("c\xff"), within("v\xfe")];
    const write = { column, part: "write" } as const;
    const put = { type: "put", ...write, timestamp: 1, value } as const;
    const absent = { type: "absent", ...write, from: 0, to: Number.POSITIVE_INFINITY } as const;
    const present = {
      type: "present",
      ...write,
      at: 1,
      equals: within("v\xfe"),
      below: within("w"),
    } as const;
    const change = { table, row: name };
    assert.equal(await store.mutate({ ...change, guards: [absent], mutations: [put] }), "applied");
    assert.equal(await store.mutate({ ...change, guards: [present], mutations: [] }), "applied");
    const { atomic } = store;
    if (atomic !== undefined) {
      const guards = { rows: [{ ...change, guards: [present], mutations: [] }] };
      assert.equal((await atomic.commit(guards)).answer, "applied");
      const range = { table, start: name, end: within("s"), columns: [{ exact: column }], absent: [absent] };
      const refused = await atomic.commit({ ...guards, ranges: [range] });
      assert.deepEqual(refused, { answer: "rejected", range: 0 });
    }
    const expected = [{ column: "c\xff", write: "1=v\xfe", latest: true }];
    for (const columns of [[{ exact: column }], [{ start: within("c"), end: within("d") }]]) {
      const read = { table, row: name, columns, at: 9 };
      assert.deepEqual(await taking(store.readRow(read), ({ cells }) => cells.map(plainCell)), expected);
      const [start, end] = [{ row: name, column }, { row: within("r\0") }];
      assert.deepEqual(await range(store, { columns, start, end }), [{ row: "r", cells: expected }]);
      assert.deepEqual(await raw(store, { columns, start, end }), ["r/c\xff/write@1=v\xfe"]);
    }
  });

  test("reads of absent data return nothing, even in an absent table", async (store) => {
    assert.deepEqual(await row(store, "r", { table: "nowhere" }), []);
    assert.deepEqual(await row(store, "r", { table: "nowhere", columns: exactly("c") }), []);
    assert.deepEqual(await range(store, { table: "nowhere" }), []);
    await apply(store, "r", put("c", "write", 1, "x"));
    assert.deepEqual(await row(store, "r", { columns: exactly("d") }), []);
    assert.deepEqual(await row(store, "q"), []);
    assert.deepEqual(await range(store, { start: place("s") }), []);
    assert.deepEqual(await store.splitPoints("nowhere", 8), []);
  });
}
