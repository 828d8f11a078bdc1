import assert from "node:assert/strict";
import { CellBlock, type RowStore } from "../../store/index.js";
import {
  absent,
  apply,
  between,
  bytes,
  change,
  type Declare,
  erase,
  exactly,
  mutate,
  place,
  put,
  range,
  raw,
  row,
  table,
  turn,
} from "./harness.js";

const code = (expected: string) => (error: unknown) =>
  typeof error === "object" && error !== null && "code" in error && error.code === expected;

/** Returns every call that a store offers. */
function calls(store: RowStore, signal?: AbortSignal): (() => Promise<unknown>)[] {
  const options = signal === undefined ? undefined : { signal };
  const columns = exactly("c");
  const reads = [
    async () => store.readRow({ table, row: bytes("r"), columns, at: 9 }, options),
    async () => store.readRange({ table, columns, at: 9 }, options),
    async () => store.readRaw({ table, columns, parts: ["write"] }, options),
  ];
  const writes = [() => store.mutate(change("r", [put("c", "write", 9, "x")]), options)];
  const { atomic } = store;
  if (atomic !== undefined) {
    writes.push(() => atomic.commit({ rows: [change("r", [put("c", "write", 9, "x")])] }, options) as never);
    writes.push(() => atomic.next(options) as never);
    const { fill } = atomic;
    if (fill !== undefined) {
      const cells = new CellBlock(table, 9);
      cells.add(bytes("s"), bytes("c"), bytes(""), bytes("x"));
      const guarded = { table, row: bytes("r"), guards: [] };
      writes.push(() => fill({ guarded, cells }, options) as never);
    }
  }
  return [...reads, ...writes];
}

/** Tests of many concurrent requests, of aborted requests, and of requests after `close`. */
export function requestTests(test: Declare): void {
  test("of 1,000 mutations that guard one cell, one is applied", async (store) => {
    const one = (i: number) => mutate(store, "r", [put("c", "write", i + 1, `${i}`)], [absent("c", "write")]);
    const answers = await Promise.all(Array.from({ length: 1_000 }, (_, i) => one(i)));
    assert.equal(answers.filter((each) => each === "applied").length, 1);
    assert.equal(answers.filter((each) => each === "rejected").length, 999);
    const winner = answers.indexOf("applied");
    assert.deepEqual(await raw(store), [`r/c/write@${winner + 1}=${winner}`]);
  });

  test("mutations and batches of one row are applied one after the other", async (store) => {
    // A worker takes the lock with one request, and releases it with another. The store must not
    // apply any other request for the lock between these two.
    const { atomic } = store;
    let held = 0;
    const worker = async (id: number) => {
      for (let [round, attempt] = [0, id]; round < 25; attempt++) {
        const timestamp = id + 1;
        const taking = change("r", [put("c", "lock", timestamp, "")], [absent("c", "lock")]);
        const taken =
          atomic === undefined || attempt % 2 === 0
            ? await store.mutate(taking)
            : (await atomic.commit({ rows: [taking] })).answer;
        if (taken === "applied") held++;
        for (let turns = 0; turns <= attempt % 3; turns++) await turn();
        if (taken !== "applied") continue;
        assert.equal(held--, 1);
        await apply(
          store,
          "r",
          erase("c", "lock", timestamp, timestamp + 1),
          put("n", "txn", id * 100 + round, ""),
        );
        round++;
      }
    };
    await Promise.all(Array.from({ length: 4 }, (_, id) => worker(id)));
    assert.equal((await raw(store, { parts: ["txn"] })).length, 100);
    assert.deepEqual(await raw(store, { parts: ["lock"] }), []);
  });

  test("1,000 mutations of different rows are all applied", async (store) => {
    const name = (i: number) => `r${String(i).padStart(4, "0")}`;
    const answers = await Promise.all(
      Array.from({ length: 1_000 }, (_, i) => mutate(store, name(i), [put("c", "write", 1, `${i}`)])),
    );
    assert.ok(answers.every((each) => each === "applied"));
    const shown = await range(store);
    assert.deepEqual(
      shown.map((each) => [each.row, each.cells[0]!.write]),
      Array.from({ length: 1_000 }, (_, i) => [name(i), `1=${i}`]),
    );
  });

  test("mutations that are sent together have answers of their own: one that is refused, rejected or aborted ends no other", async (store) => {
    const controller = new AbortController();
    const { signal } = controller;
    await apply(store, "guarded", put("c", "write", 1, "old"));
    const one = (i: number) =>
      change(`r${i % 4}`, [put(`c${i}`, "write", 1, `${i}`)], [], i < 10 ? table : "others");
    const numbers = Array.from({ length: 20 }, (_, i) => i);
    const sent = Promise.allSettled([
      ...numbers.slice(0, 5).map(async (i) => store.mutate(one(i))),
      (async () => store.mutate(change("refused", [put("c", "write", -1, "")])))(),
      (async () => store.mutate(change("aborted", [put("c", "write", 1, "")]), { signal }))(),
      mutate(store, "guarded", [put("c", "write", 2, "new")], [absent("c", "write")]),
      ...numbers.slice(5).map(async (i) => store.mutate(one(i))),
    ]);
    controller.abort();
    const answers = await sent;
    const [refused, , guarded] = answers.splice(5, 3);
    assert.equal(refused!.status, "rejected");
    assert.deepEqual(guarded, { status: "fulfilled", value: "rejected" });
    for (const answer of answers) assert.deepEqual(answer, { status: "fulfilled", value: "applied" });
    const shown = await Promise.all([table, "others"].map((each) => raw(store, { table: each })));
    const expected = numbers.map((i) => `r${i % 4}/c${i}/write@1=${i}`);
    const written = shown.flat().filter((each) => each.startsWith("r"));
    assert.deepEqual(written.sort(), expected.sort());
    assert.deepEqual(await row(store, "guarded"), [{ column: "c", write: "1=old", latest: true }]);
  });

  test("a read sees all or nothing of a concurrent mutation of its row", async (store) => {
    let done = false;
    const writer = async () => {
      for (let i = 1; i <= 60; i++) {
        await apply(store, "r", ...["a", "b", "c"].map((column) => put(column, "write", i, `${i}`)));
      }
      done = true;
    };
    const reader = async () => {
      while (!done) {
        const whole = new Set((await row(store, "r")).map((cell) => cell.write));
        const columns = new Set(
          (await row(store, "r", { columns: exactly("a", "c") })).map((cell) => cell.write),
        );
        assert.ok(whole.size <= 1 && columns.size <= 1);
        await turn();
      }
    };
    await Promise.all([writer(), reader()]);
  });

  test("a signal that is already aborted ends every request, with nothing changed", async (store) => {
    const signal = AbortSignal.abort(new Error("enough"));
    for (const call of calls(store, signal)) await assert.rejects(call, code("ABORTED"));
    assert.deepEqual(await raw(store), []);
  });

  test("a signal that is aborted later ends the wait: the answer is correct, unknown, or an error with nothing changed", async (store) => {
    const { atomic } = store;
    for (let i = 0; i < 40; i++) {
      const controller = new AbortController();
      const { signal } = controller;
      const name = `r${i}`;
      const mutation = change(name, [put("c", "write", 1, "x")]);
      const asked =
        atomic === undefined || i % 2 === 0
          ? store.mutate(mutation, { signal })
          : atomic.commit({ rows: [mutation] }, { signal }).then(({ answer }) => answer);
      const answered = asked.catch((error: unknown) => {
        assert.ok(code("ABORTED")(error));
        return "none";
      });
      for (let turns = 0; turns < i % 5; turns++) await turn();
      controller.abort();
      const answer = await answered;
      await apply(store, "other", put("c", "write", i + 1, ""));
      const there = (await row(store, name)).length === 1;
      if (answer === "applied") assert.ok(there);
      else if (answer === "none") assert.ok(!there);
      else assert.equal(answer, "unknown");
    }
  });

  test("a signal that is aborted after the answer has no effect", async (store) => {
    const controller = new AbortController();
    const { signal } = controller;
    assert.equal(await store.mutate(change("r", [put("c", "write", 1, "x")]), { signal }), "applied");
    controller.abort();
    assert.equal((await row(store, "r")).length, 1);
  });

  test("close waits for running requests, and may be repeated; after it every request is refused", async (store) => {
    const { atomic } = store;
    const asked = mutate(store, "r", [put("c", "write", 1, "x")]);
    const committed = atomic?.commit({ rows: [change("s", [put("c", "write", 1, "x")])] });
    const closed = store.close();
    assert.equal(await asked, "applied");
    if (committed !== undefined) assert.equal((await committed).answer, "applied");
    await closed;
    await store.close();
    for (const call of calls(store)) await assert.rejects(call, code("CLOSED"));
    await assert.rejects(async () => store.prepare(["t"]), code("CLOSED"));
    await assert.rejects(async () => store.splitPoints("t", 4), code("CLOSED"));
    await assert.rejects(async () => store.statistics(), code("CLOSED"));
    if (atomic !== undefined) await assert.rejects(async () => atomic.counter(), code("CLOSED"));
  });

  test("a store finds no damage in what it has written", async (store) => {
    for (const name of ["a", "b"]) await apply(store, name, put("c", "write", 1, name));
    await store.clearDead?.();
    assert.deepEqual((await store.verify?.()) ?? [], []);
    assert.equal((await range(store)).length, 2);
  });

  test("a store describes itself and its capabilities", async (store) => {
    assert.ok(store.description.length > 0);
    const { capabilities } = store;
    assert.equal(capabilities.atomicBatches, store.atomic !== undefined);
    assert.ok(capabilities.mutationCells >= 100);
    assert.ok(capabilities.inlineBytes >= 0);
    const figures = await store.statistics();
    for (const [name, figure] of Object.entries(figures)) assert.ok(Number.isFinite(figure), name);
    await apply(store, "r", put("c", "write", 1, "x"));
    const rows = await range(store, { columns: between(""), start: place("r") });
    assert.equal(rows.length, 1);
  });
}
