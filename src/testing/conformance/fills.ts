import assert from "node:assert/strict";
import {
  CellBlock,
  commitTimestamp,
  type FillAnswer,
  type FillBatch,
  type Guard,
  type RowStore,
} from "../../store/index.js";
import {
  absent,
  apply,
  atomicOf,
  awkwardKeys,
  bytes,
  change,
  type Declare,
  erase,
  present,
  put,
  raw,
  row,
  table,
} from "./harness.js";

type Cell = readonly [row: string, column: string, value: string | Uint8Array];

function fillOf(cells: readonly Cell[], guards: readonly Guard[] = [], timestamp = 7): FillBatch {
  const block = new CellBlock(table, timestamp);
  for (const [name, column, value] of cells) {
    const record = typeof value === "string" ? bytes(value) : value;
    // A record comes in two pieces, of which either may be empty.
    const middle = record.length % 3 === 0 ? 0 : Math.floor(record.length / 2);
    block.add(bytes(name), bytes(column), record.subarray(0, middle), record.subarray(middle));
  }
  return { guarded: { table: "~system", row: bytes("owner"), guards }, cells: block };
}

/**
 * Tests of fills, which put a block of cells into a range that has none. A store that does not
 * offer them passes.
 */
export function fillTests(declare: Declare): void {
  const test = (
    name: string,
    body: (store: RowStore, fill: (batch: FillBatch) => Promise<FillAnswer>) => Promise<void>,
  ) =>
    declare(name, async (store) => {
      const atomic = atomicOf(store);
      if (atomic.fill !== undefined) await body(store, (batch) => atomic.fill!(batch));
    });

  test("a fill puts each cell's record at the block's timestamp, and leaves the counter", async (store, fill) => {
    const counter = await atomicOf(store).counter();
    const cells: Cell[] = [
      ["a", "c", "1"],
      ["a", "d", ""],
      ["b", "c", "longer"],
    ];
    assert.equal(await fill(fillOf(cells)), "applied");
    assert.deepEqual(await raw(store), ["a/c/write@7=1", "a/d/write@7=", "b/c/write@7=longer"]);
    assert.deepEqual(await row(store, "a", { at: 6 }), []);
    assert.equal((await row(store, "a", { at: 7 })).length, 2);
    assert.equal(await atomicOf(store).counter(), counter);
  });

  test("a fill with awkward keys and values of all lengths can be read back", async (store, fill) => {
    const lengths = [0, 1, 64, 384, 1_024, 1_025, 16_383, 16_384, 16_385, 70_000, 300_000];
    const cells = awkwardKeys.flatMap((name, index): Cell[] =>
      awkwardKeys.map((column, at) => [name, column, Buffer.alloc(lengths[(index + at) % 11]!, index)]),
    );
    assert.equal(await fill(fillOf(cells)), "applied");
    const stored = await Promise.all(awkwardKeys.map((name) => row(store, name)));
    const shown = stored.flatMap((columns, index) =>
      columns.map(({ column, write }) => [awkwardKeys[index], column, write]),
    );
    const expected = cells.map(([name, column, value]) => [
      name,
      column,
      `7=${Buffer.from(value as Uint8Array).toString("latin1")}`,
    ]);
    assert.deepEqual(shown, expected);
  });

  test("a fill of a range with any cell in it changes nothing", async (store, fill) => {
    const cells: Cell[] = [
      ["b", "c", "1"],
      ["d", "c", "2"],
    ];
    for (const [name, column] of [
      ["b", "c"],
      ["b", "cc"],
      ["b", "z"],
      ["c", "a"],
      ["d", "a"],
      ["d", "c"],
    ] as const) {
      for (const part of ["write", "lock", "data", "txn"] as const) {
        await apply(store, name, put(column, part, 3, "x"));
        const before = await raw(store);
        assert.equal(await fill(fillOf(cells)), "occupied");
        assert.deepEqual(await raw(store), before);
        await apply(store, name, erase(column, part, 0, 9));
      }
    }
    for (const [name, column] of [
      ["b", "b"],
      ["a", "z"],
      ["d", "ca"],
      ["d\0", "a"],
    ] as const)
      await apply(store, name, put(column, "write", 3, "x"));
    assert.equal(await fill(fillOf(cells)), "applied");
    assert.equal(await fill(fillOf(cells)), "occupied");
    assert.equal((await raw(store)).length, 6);
  });

  test("a fill whose guard does not hold changes nothing", async (store, fill) => {
    const guards = [present("owner", "write", 1), absent("owner", "write", 2)];
    const cells: Cell[] = [["a", "c", "1"]];
    const system = (timestamp: number) =>
      store.mutate(change("owner", [put("owner", "write", timestamp, "me")], [], "~system"));
    assert.equal(await fill(fillOf(cells, guards)), "rejected");
    await system(1);
    assert.equal(await fill(fillOf(cells, guards)), "applied");
    await system(2);
    assert.equal(await fill(fillOf([["b", "c", "1"]], guards)), "rejected");
    assert.deepEqual(await raw(store), ["a/c/write@7=1"]);
  });

  test("requests that are sent together see each other's cells, in the order in which they were sent", async (store, fill) => {
    const atomic = atomicOf(store);
    const one: Cell[] = [
      ["b", "c", "1"],
      ["d", "c", "2"],
    ];
    const guarded = change("c", [put("c", "write", commitTimestamp, "x")], [absent("c", "write")]);
    const answers = await Promise.all([
      store.mutate(change("a", [put("c", "write", 1, "x")])),
      fill(fillOf(one)),
      atomic.commit({ rows: [change("b", [put("c", "write", 9, "new")], [present("c", "write", 7)])] }),
      fill(fillOf([["c", "c", "no"]])),
      atomic.commit({ rows: [guarded] }),
      fill(fillOf([["e", "c", "3"]])),
      store.mutate(change("g", [put("c", "write", 1, "x")])),
      fill(
        fillOf([
          ["f", "c", "no"],
          ["h", "c", "no"],
        ]),
      ),
    ]);
    const plain = answers.map((each) => (typeof each === "string" ? each : each.answer));
    assert.deepEqual(plain, [
      ...["applied", "applied", "applied", "applied"],
      ...["rejected", "applied", "applied", "occupied"],
    ]);
    const stored = (await raw(store)).map((each) => each.replace("/c/write@", ""));
    assert.deepEqual(stored, ["a1=x", "b9=new", "b7=1", "c7=no", "d7=2", "e7=3", "g1=x"]);
  });

  test("many fills beside commits: each cell of each is there", async (store, fill) => {
    const atomic = atomicOf(store);
    const name = (i: number) => `r${String(i).padStart(6, "0")}`;
    const cellsOf = (batch: number) =>
      Array.from({ length: 300 }, (_, i): Cell => [name(batch * 300 + i), "c", `${i} ${"v".repeat(i)}`]);
    const fills = Array.from({ length: 20 }, async (_, batch) => {
      assert.equal(await fill(fillOf(cellsOf(batch))), "applied");
      // Cells that are filled already are ordinary cells.
      const changed = change(name(batch * 300 + 299), [put("c", "write", commitTimestamp, "new")]);
      assert.equal((await atomic.commit({ rows: [changed] })).answer, "applied");
    });
    const commits = Array.from({ length: 200 }, async (_, i) => {
      const rows = [change(`s${i}`, [put("c", "write", commitTimestamp, "x")], [absent("c", "write")])];
      assert.equal((await atomic.commit({ rows })).answer, "applied");
    });
    await Promise.all([...fills, ...commits]);
    assert.equal((await raw(store)).length, 20 * 301 + 200);
    assert.equal((await row(store, name(4_000), { at: 7 }))[0]!.write, `7=100 ${"v".repeat(100)}`);
  });

  test("a block is refused if its cells do not ascend, or it is empty", async (store, fill) => {
    for (const cells of [
      [
        ["a", "c", ""],
        ["a", "c", ""],
      ],
      [
        ["b", "c", ""],
        ["a", "d", ""],
      ],
      [
        ["a", "d", ""],
        ["a", "c", ""],
      ],
      [["k".repeat(1_801), "", ""]],
    ] as const)
      assert.throws(() => fillOf(cells as readonly Cell[]));
    await assert.rejects(fill(fillOf([])));
    assert.deepEqual(await raw(store), []);
  });
}
