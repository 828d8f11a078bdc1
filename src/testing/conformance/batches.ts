import assert from "node:assert/strict";
import { type AtomicBatch, commitTimestamp, type MaybePromise, type RangeGuard } from "../../store/index.js";
import {
  absent,
  apply,
  atomicOf,
  between,
  bytes,
  change,
  type Declare,
  erase,
  exactly,
  present,
  put,
  range,
  raw,
  row,
  table,
  turn,
} from "./harness.js";

const forever = Number.POSITIVE_INFINITY;

/**
 * Tests of batches, which change several rows in one atomic step. For stores that declare
 * `atomicBatches`.
 */
export function batchTests(test: Declare): void {
  test("a batch changes rows of several tables at its commit timestamp", async (store) => {
    const atomic = atomicOf(store);
    const batch: AtomicBatch = {
      rows: [
        change("r", [put("c", "write", commitTimestamp, "a"), put("d", "data", 7, "b")]),
        change("s", [put("c", "write", commitTimestamp, "c")], [absent("c", "write")]),
        change("r", [put("c", "write", commitTimestamp, "d")], [], "others"),
      ],
    };
    const answer = await atomic.commit(batch);
    assert.equal(answer.answer, "applied");
    const { timestamp } = answer as { timestamp: number };
    assert.ok(Number.isSafeInteger(timestamp) && timestamp > 0);
    assert.deepEqual(await raw(store), [
      `r/c/write@${timestamp}=a`,
      "r/d/data@7=b",
      `s/c/write@${timestamp}=c`,
    ]);
    assert.deepEqual(await raw(store, { table: "others" }), [`r/c/write@${timestamp}=d`]);
  });

  test("a stamped row ends with the commit timestamp of its batch, also if many batches have the same", async (store) => {
    const atomic = atomicOf(store);
    const stamped = (name: string): AtomicBatch["rows"][number] => ({
      ...change("", [put("c", "write", commitTimestamp, name), put("d", "data", 7, name)]),
      row: Buffer.concat([Buffer.from("feed"), Buffer.alloc(8)]),
      stamped: true,
    });
    const names = Array.from({ length: 40 }, (_, index) => `batch ${index}`);
    const batches = names.map((name) => ({
      rows: [change(name, [put("c", "data", 1, name)]), stamped(name)],
    }));
    const answers = await Promise.all(batches.map((batch) => atomic.commit(batch)));
    const expected = answers.flatMap((answer, index) => {
      assert.equal(answer.answer, "applied");
      const { timestamp } = answer as { timestamp: number };
      const row = Buffer.alloc(12, "feed");
      row.writeBigUInt64BE(BigInt(timestamp), 4);
      return [{ row, timestamp, name: names[index]! }];
    });
    const page = await store.readRaw({
      table,
      start: { row: Buffer.from("feed") },
      end: { row: Buffer.from("fefe") },
      columns: [{ start: new Uint8Array(0), end: undefined }],
      parts: ["write", "data"],
    });
    const found = page.rows.map((each) => {
      const [write] = each.cells[0]!.versions;
      return {
        row: Buffer.from(each.row),
        timestamp: write!.timestamp,
        name: Buffer.from(write!.value).toString(),
      };
    });
    assert.deepEqual(
      found,
      expected.sort((a, b) => a.timestamp - b.timestamp),
    );
    const data = page.rows.map(({ cells }) => Buffer.from(cells[1]!.versions[0]!.value).toString());
    assert.deepEqual(
      data,
      expected.map(({ name }) => name),
    );
  });

  test("a stamped row is refused outside of a batch, with guards, or if it is too short", async (store) => {
    const atomic = atomicOf(store);
    const row = Buffer.alloc(12);
    const plain = { ...change("", [put("c", "write", 1, "x")]), row, stamped: true };
    await assert.rejects(async () => store.mutate(plain), /stamped mutation/);
    const guarded = { ...plain, guards: [absent("c", "write")] };
    await assert.rejects(async () => atomic.commit({ rows: [guarded] }), /stamped mutation/);
    const short = { ...plain, row: Buffer.alloc(7) };
    await assert.rejects(async () => atomic.commit({ rows: [short] }), /stamped mutation/);
  });

  test("a batch with one failed guard does nothing, and names the guard", async (store) => {
    const atomic = atomicOf(store);
    await apply(store, "s", put("c", "write", 3, "w"));
    const before = await raw(store);
    const counter = await atomic.counter();
    const rows = [
      change("q", [put("c", "write", commitTimestamp, "x")], [absent("c", "write")]),
      change(
        "s",
        [put("c", "write", commitTimestamp, "x")],
        [present("c", "write", 3), absent("c", "write", 2, 4)],
      ),
      change("t", [put("c", "write", commitTimestamp, "x")], [present("c", "lock", 1)]),
    ];
    assert.deepEqual(await atomic.commit({ rows }), { answer: "rejected", row: 1, guard: 1 });
    assert.deepEqual(await atomic.commit({ rows: rows.slice(2) }), { answer: "rejected", row: 0, guard: 0 });
    assert.deepEqual(await raw(store), before);
    assert.equal(await atomic.counter(), counter);
  });

  test("all guards see the state before the batch", async (store) => {
    const atomic = atomicOf(store);
    const rows = [
      change("r", [put("c", "write", commitTimestamp, "x")], [absent("c", "write")]),
      change("r", [put("d", "write", commitTimestamp, "y")], [absent("c", "write"), absent("d", "write")]),
      change("r", [erase("c", "write", 0, forever), put("c", "write", 5, "z")]),
    ];
    assert.equal((await atomic.commit({ rows })).answer, "applied");
    const cells = await row(store, "r");
    assert.deepEqual([cells[0]!.write, cells[1]!.column], ["5=z", "d"]);
    assert.deepEqual(await atomic.commit({ rows }), { answer: "rejected", row: 0, guard: 0 });
  });

  test("present guards of a batch compare values as those of a mutation do", async (store) => {
    const atomic = atomicOf(store);
    await apply(store, "r", put("c", "write", 4, "mm"));
    for (const [value, holds] of [
      [{ equals: "mm" }, true],
      [{ equals: "m" }, false],
      [{ below: "mn" }, true],
      [{ below: "mm" }, false],
      [{ equals: "mm", below: "a" }, false],
    ] as const) {
      const answer = await atomic.commit({ rows: [change("r", [], [present("c", "write", 4, value)])] });
      if (holds) assert.equal(answer.answer, "applied");
      else assert.deepEqual(answer, { answer: "rejected", row: 0, guard: 0 });
    }
  });

  test("a batch may have more guards and mutations than one row's mutation", async (store) => {
    const atomic = atomicOf(store);
    const count = Math.max(150, Math.ceil(Math.min(store.capabilities.mutationCells, 20_000) / 50));
    const puts = Array.from({ length: 60 }, (_, i) => put(`c${i}`, "write", commitTimestamp, ""));
    const rows = Array.from({ length: count }, (_, i) => change(`r${i}`, puts, [absent("c0", "write")]));
    assert.equal((await atomic.commit({ rows })).answer, "applied");
    const shown = await range(store);
    assert.equal(shown.length, count);
    assert.ok(shown.every(({ cells }) => cells.length === 60));
  });

  test("a batch of only guards, or an empty batch, is applied", async (store) => {
    const atomic = atomicOf(store);
    assert.equal((await atomic.commit({ rows: [] })).answer, "applied");
    assert.equal(
      (await atomic.commit({ rows: [change("r", [], [absent("c", "write")])] })).answer,
      "applied",
    );
    assert.deepEqual(await raw(store), []);
  });

  test("a present guard at the commit timestamp never holds", async (store) => {
    const atomic = atomicOf(store);
    await apply(store, "r", put("c", "write", 3, "w"));
    const rows = [change("r", [], [present("c", "write", commitTimestamp)])];
    assert.deepEqual(await atomic.commit({ rows }), { answer: "rejected", row: 0, guard: 0 });
  });

  test("guards on system rows are checked for every batch", async (store) => {
    const atomic = atomicOf(store);
    const guard = present("c", "write", 1, { equals: "on" });
    const guarded = (name: string) => change(name, [], [guard], "~system");
    const set = (name: string, value: string) => change(name, [put("c", "write", 1, value)], [], "~system");
    assert.equal(await store.mutate(set("other", "off")), "applied");
    for (const [timestamp, value, expected] of [
      [1, "on", "applied"],
      [2, "off", "rejected"],
      [3, "on", "applied"],
    ] as const) {
      assert.equal(await store.mutate(set("flag", value)), "applied");
      const rows = [guarded("flag"), change("r", [put("c", "write", timestamp, value)])];
      const batches = [[guarded("flag")], rows, [guarded("other")], rows];
      const answers = await Promise.all(batches.map((each) => atomic.commit({ rows: each })));
      const plain = answers.map(({ answer }) => answer);
      assert.deepEqual(plain, [expected, expected, "rejected", expected]);
    }
    assert.deepEqual(await raw(store), ["r/c/write@3=on", "r/c/write@1=on"]);
  });

  test("a range guard holds if no cell of the range has a version that must be absent", async (store) => {
    const atomic = atomicOf(store);
    for (const name of ["a", "b", "c", "d"]) await apply(store, name, put("c", "write", 5, "w"));
    await apply(
      store,
      "b",
      put("d", "lock", 7, "l"),
      put("wide", "write", 9, "w"),
      put("wide", "write", 3, "w"),
    );
    const guard = (options: Partial<RangeGuard> & Pick<RangeGuard, "absent">): RangeGuard => ({
      table,
      columns: between(""),
      ...options,
    });
    const write = (from: number, to = forever) => [{ part: "write", from, to }] as const;
    const lock = [{ part: "lock", from: 0, to: forever }] as const;
    for (const [each, holds] of [
      [guard({ absent: write(0) }), false],
      [guard({ absent: write(10) }), true],
      [guard({ absent: write(6) }), false],
      [guard({ absent: write(6), columns: exactly("c") }), true],
      [guard({ absent: write(6), start: bytes("c") }), true],
      [guard({ absent: write(6), end: bytes("b") }), true],
      [guard({ absent: write(6), start: bytes("b"), end: bytes("b\0") }), false],
      [guard({ absent: write(5, 6), start: bytes("c"), end: bytes("d") }), false],
      [guard({ absent: write(5, 6), start: bytes("e") }), true],
      [guard({ absent: write(3, 4) }), false],
      [guard({ absent: write(4, 5) }), true],
      [guard({ absent: write(1, 3) }), true],
      [guard({ absent: lock }), false],
      [guard({ absent: lock, columns: exactly("c", "wide") }), true],
      [guard({ absent: [...write(10), ...lock] }), false],
      [guard({ absent: [], columns: between("") }), true],
      [guard({ absent: write(0), table: "nowhere" }), true],
      [guard({ absent: write(0), start: bytes("d"), end: bytes("a") }), true],
    ] as const) {
      const answer = await atomic.commit({ rows: [], ranges: [guard({ absent: write(100) }), each] });
      if (holds) assert.equal(answer.answer, "applied");
      else assert.deepEqual(answer, { answer: "rejected", range: 1 });
    }
    const refused = await atomic.commit({
      rows: [change("z", [put("c", "write", commitTimestamp, "x")])],
      ranges: [guard({ absent: write(0) })],
    });
    assert.deepEqual(refused, { answer: "rejected", range: 0 });
    assert.equal((await range(store)).length, 4);
  });

  test("the counter rises with every commit and includes it", async (store) => {
    const atomic = atomicOf(store);
    let last = await atomic.counter();
    for (let i = 0; i < 20; i++) {
      const next = await atomic.next();
      assert.ok(next > last, "next() is above the counter");
      const between = await atomic.counter();
      assert.ok(between >= next, "counter() contains next()");
      const rows = [change("r", [put("c", "write", commitTimestamp, `${i}`)])];
      const answer = await atomic.commit({ rows });
      const { timestamp } = answer as { timestamp: number };
      assert.ok(timestamp > between, "a commit is above the counter before it");
      last = await atomic.counter();
      assert.ok(last >= timestamp, "counter() contains the commit");
      assert.equal((await row(store, "r", { at: last }))[0]!.write, `${timestamp}=${i}`);
    }
  });

  test("timestamps are microseconds since 1970, from which the age of a snapshot is known", async (store) => {
    const atomic = atomicOf(store);
    const [first, last] = [Date.UTC(2015) * 1_000, Date.UTC(2255) * 1_000];
    const taken = await atomic.next();
    assert.ok(taken > first && taken < last, `${taken} is a time in microseconds`);
    const rows = [change("r", [put("c", "write", commitTimestamp, "x")])];
    const { timestamp } = (await atomic.commit({ rows })) as { timestamp: number };
    assert.ok(timestamp > first && timestamp < last, `${timestamp} is a time in microseconds`);
  });

  test("what a timestamp of the counter shows does not change any more", async (store) => {
    const atomic = atomicOf(store);
    const names = ["a", "b", "c"];
    let writing = names.length;
    const writer = async (name: string) => {
      for (let i = 0; i < 25; i++) {
        const rows = [change(name, [put("c", "write", commitTimestamp, `${i}`)])];
        assert.equal((await atomic.commit({ rows })).answer, "applied");
      }
      writing--;
    };
    const shownAt = async (at: number) =>
      (await range(store, { at })).map((each) => [each.row, each.cells[0]!.write]);
    const seen = new Map<number, unknown>();
    const reader = async (timestamp: () => MaybePromise<number>) => {
      while (writing > 0) {
        const at = await timestamp();
        seen.set(at, await shownAt(at));
        await turn();
      }
    };
    await Promise.all([...names.map(writer), reader(() => atomic.counter()), reader(() => atomic.next())]);
    for (const [at, shown] of seen) assert.deepEqual(await shownAt(at), shown);
  });

  test("timestamps are unique, and rise in the order of one caller's calls", async (store) => {
    const atomic = atomicOf(store);
    const taken: number[] = [];
    const callers = Array.from({ length: 20 }, async (_, caller) => {
      let last = 0;
      for (let i = 0; i < 15; i++) {
        let timestamp: number;
        if ((caller + i) % 2 === 0) timestamp = await atomic.next();
        else {
          const rows = [change(`r${caller}`, [put("c", "write", commitTimestamp, `${i}`)])];
          timestamp = ((await atomic.commit({ rows })) as { timestamp: number }).timestamp;
        }
        assert.ok(timestamp > last);
        last = timestamp;
        taken.push(timestamp);
      }
    });
    await Promise.all(callers);
    assert.equal(new Set(taken).size, taken.length);
    assert.ok((await atomic.counter()) >= Math.max(...taken));
  });

  test("a batch is all or nothing, for concurrent readers too", async (store) => {
    const atomic = atomicOf(store);
    const names = ["a", "b", "c", "d", "e"];
    let done = false;
    const writer = async () => {
      for (let i = 0; i < 40; i++) {
        const rows = names.map((name) => change(name, [put("c", "write", commitTimestamp, `${i}`)]));
        assert.equal((await atomic.commit({ rows })).answer, "applied");
      }
      done = true;
    };
    const reader = async () => {
      while (!done) {
        const at = await atomic.counter();
        const shown = await range(store, { at });
        const values = new Set(shown.map((each) => each.cells[0]!.write));
        assert.ok(values.size <= 1 && (shown.length === 0 || shown.length === names.length));
        await turn();
      }
    };
    await Promise.all([writer(), reader(), reader()]);
  });

  test("of 300 batches that guard one cell, one is applied", async (store) => {
    const atomic = atomicOf(store);
    const batch = (i: number): AtomicBatch => ({
      rows: [
        change("r", [put("c", "write", commitTimestamp, `${i}`)], [absent("c", "write")]),
        change(`s${i}`, [put("c", "write", commitTimestamp, `${i}`)]),
      ],
    });
    const answers = await Promise.all(Array.from({ length: 300 }, (_, i) => atomic.commit(batch(i))));
    const winner = answers.findIndex((each) => each.answer === "applied");
    assert.equal(answers.filter((each) => each.answer === "applied").length, 1);
    assert.deepEqual(
      (await range(store)).map((each) => each.row),
      ["r", `s${winner}`],
    );
  });

  test("of 300 batches that guard one range, one is applied", async (store) => {
    const atomic = atomicOf(store);
    const absent = [{ part: "write", from: 0, to: forever }] as const;
    const batch = (i: number): AtomicBatch => ({
      rows: [change(`r${i}`, [put("c", "write", commitTimestamp, "")])],
      ranges: [{ table, start: bytes("r"), columns: between(""), absent }],
    });
    const answers = await Promise.all(Array.from({ length: 300 }, (_, i) => atomic.commit(batch(i))));
    const winner = answers.findIndex((each) => each.answer === "applied");
    for (const [i, answer] of answers.entries())
      if (i !== winner) assert.deepEqual(answer, { answer: "rejected", range: 0 });
    assert.deepEqual(
      (await range(store)).map((each) => each.row),
      [`r${winner}`],
    );
  });

  test("a batch with an invalid mutation is refused, with nothing changed", async (store) => {
    const atomic = atomicOf(store);
    const good = change("a", [put("c", "write", commitTimestamp, "x")]);
    for (const rows of [
      [good, change("r", [put("c", "write", -2, "")])],
      [good, change("r", [put("c", "write", 0.5, "")])],
      [good, change("k".repeat(2_000), [put("c", "write", 1, "")])],
    ]) {
      await assert.rejects(atomic.commit({ rows }));
    }
    assert.deepEqual(await raw(store), []);
  });
}

/** Tests that a store of one-row mutations has no `atomic`. */
export function noBatchTests(test: Declare): void {
  test("a store that declares no atomic batches has no `atomic`", async (store) => {
    assert.equal(store.atomic, undefined);
  });
}
