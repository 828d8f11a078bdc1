import assert from "node:assert/strict";
import { storeLimits } from "../../store/index.js";
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
  present,
  put,
  raw,
  row,
  table,
} from "./harness.js";

const parts = ["lock", "write", "data", "txn"] as const;
const forever = Number.POSITIVE_INFINITY;
/** Bytes of a guard in addition to its column, see `StoreCapabilities.guardBytes`. */
const guardOverhead = 64;

/** Tests of mutations of one row under guards. */
export function mutationTests(test: Declare): void {
  test("a put replaces an existing version", async (store) => {
    for (const part of parts) {
      await apply(store, "r", put("c", part, 5, "old"), put("c", part, 3, "older"));
      await apply(store, "r", put("c", part, 5, "new"));
      await apply(store, "r", put("c", part, 3, "newer"));
      assert.deepEqual(await raw(store, { parts: [part] }), [`r/c/${part}@5=new`, `r/c/${part}@3=newer`]);
    }
  });

  test("mutations are applied in the given order", async (store) => {
    for (const part of parts) {
      await apply(store, "r", put("c", part, 1, "a"), erase("c", part, 0, 9), put("c", part, 2, "b"));
      assert.deepEqual(await raw(store, { parts: [part] }), [`r/c/${part}@2=b`]);
      await apply(store, "r", put("c", part, 4, "d"), put("c", part, 3, "c"), erase("c", part, 2, 4));
      assert.deepEqual(await raw(store, { parts: [part] }), [`r/c/${part}@4=d`]);
      await apply(store, "r", put("c", part, 4, "e"), put("c", part, 4, "f"), put("c", part, 7, "g"));
      assert.deepEqual(await raw(store, { parts: [part] }), [`r/c/${part}@7=g`, `r/c/${part}@4=f`]);
      await apply(store, "r", put("c", part, 8, "h"), erase("c", part, 8, 9), erase("c", part, 0, 5));
      assert.deepEqual(await raw(store, { parts: [part] }), [`r/c/${part}@7=g`]);
      await apply(store, "r", erase("c", part, 0, forever));
      assert.deepEqual(await raw(store), []);
    }
  });

  test("a delete removes the versions at or above `from` and below `to`, and nothing else", async (store) => {
    for (const part of parts) {
      for (const [from, to, left] of [
        [0, 0, [9, 7, 5, 3]],
        [9, 3, [9, 7, 5, 3]],
        [4, 5, [9, 7, 5, 3]],
        [3, 4, [9, 7, 5]],
        [9, 10, [7, 5, 3]],
        [5, 9, [9, 3]],
        [4, forever, [3]],
        [0, 9, [9]],
        [0, forever, []],
      ] as const) {
        await apply(store, "r", erase("c", part, 0, forever));
        for (const timestamp of [3, 9, 5, 7])
          await apply(store, "r", put("c", part, timestamp, `${timestamp}`));
        await apply(store, "r", erase("c", part, from, to));
        assert.deepEqual(
          await raw(store, { parts: [part] }),
          left.map((each) => `r/c/${part}@${each}=${each}`),
        );
        const shown = await row(store, "r");
        if (part !== "write") continue;
        const newest = left[0];
        assert.deepEqual(
          shown,
          newest === undefined ? [] : [{ column: "c", write: `${newest}=${newest}`, latest: true }],
        );
      }
      await apply(store, "r", erase("c", part, 0, forever));
    }
  });

  test("a delete of absent versions is applied, and changes nothing", async (store) => {
    await apply(store, "r", erase("c", "write", 0, forever), erase("c", "lock", 0, forever));
    assert.deepEqual(await raw(store), []);
    await apply(store, "r", put("c", "write", 1, "w"));
    await apply(store, "r", erase("d", "write", 0, forever), erase("c", "lock", 0, forever));
    assert.deepEqual(await raw(store), ["r/c/write@1=w"]);
  });

  test("a mutation without guards or without mutations is applied", async (store) => {
    assert.equal(await mutate(store, "r", []), "applied");
    assert.equal(await mutate(store, "r", [], [absent("c", "write")]), "applied");
    assert.deepEqual(await raw(store), []);
    await apply(store, "r", put("c", "write", 1, "w"));
    assert.equal(await mutate(store, "r", [], [absent("c", "write")]), "rejected");
    assert.equal(await mutate(store, "r", [], [present("c", "write", 1)]), "applied");
  });

  test("absent holds if no version exists at or above `from` and below `to`", async (store) => {
    for (const part of parts) {
      await apply(store, "r", put("c", part, 4, "x"), put("c", part, 8, "y"));
      for (const [from, to, holds] of [
        [0, 4, true],
        [0, 5, false],
        [4, 5, false],
        [4, 4, true],
        [5, 4, true],
        [5, 8, true],
        [5, 9, false],
        [8, 9, false],
        [9, forever, true],
        [0, forever, false],
        [8, forever, false],
      ] as const) {
        const answer = await mutate(store, "r", [put("seen", "write", 1, "")], [absent("c", part, from, to)]);
        assert.equal(answer, holds ? "applied" : "rejected", `${part} [${from}, ${to})`);
      }
      assert.equal(await mutate(store, "r", [], [absent("d", part)]), "applied");
      assert.equal(await mutate(store, "s", [], [absent("c", part)]), "applied");
    }
  });

  test("present holds if a version exists at exactly `at`, with the given value", async (store) => {
    for (const part of parts) {
      await apply(store, "r", put("c", part, 4, "mm"), put("c", part, 8, "x"));
      for (const [guard, holds] of [
        [present("c", part, 4), true],
        [present("c", part, 8), true],
        [present("c", part, 5), false],
        [present("c", part, 9), false],
        [present("d", part, 4), false],
        [present("c", part, 4, { equals: "mm" }), true],
        [present("c", part, 4, { equals: "m" }), false],
        [present("c", part, 4, { equals: "mmm" }), false],
        [present("c", part, 4, { equals: "" }), false],
        [present("c", part, 8, { equals: "mm" }), false],
        [present("c", part, 4, { below: "mm\0" }), true],
        [present("c", part, 4, { below: "mn" }), true],
        [present("c", part, 4, { below: "\xff" }), true],
        [present("c", part, 4, { below: "mm" }), false],
        [present("c", part, 4, { below: "m" }), false],
        [present("c", part, 4, { below: "" }), false],
        [present("c", part, 4, { equals: "mm", below: "a" }), false],
      ] as const) {
        assert.equal(await mutate(store, "r", [], [guard]), holds ? "applied" : "rejected");
      }
    }
  });

  test("if one guard does not hold, nothing is done", async (store) => {
    await apply(store, "r", put("c", "write", 1, "w"), put("d", "lock", 1, "l"));
    const before = await raw(store);
    const mutations = [
      put("c", "write", 2, "x"),
      erase("d", "lock", 0, 9),
      put("e", "data", 1, "x"),
      erase("c", "write", 0, 2),
    ];
    const mixed = store.capabilities.mixedGuards ?? true;
    for (const guards of [
      [absent("c", "write")],
      [absent("b", "lock"), absent("d", "lock")],
      [present("c", "write", 1), present("d", "lock", 2)],
      [present("b", "write", 1), present("c", "write", 1), present("d", "lock", 1)],
      [absent("b", "write"), absent("c", "write", 1, 2), present("d", "write", 1)],
      [absent("b", "write"), present("c", "write", 1), present("d", "write", 1)],
      [absent("b", "lock"), absent("c", "lock"), present("d", "lock", 2)],
      [absent("e", "data"), present("e", "data", 1)],
      ...(mixed ? [[present("c", "write", 1), absent("d", "lock")]] : []),
    ]) {
      assert.equal(await mutate(store, "r", mutations, guards), "rejected");
      assert.deepEqual(await raw(store), before);
    }
  });

  test("absent guards before present ones of the same part are decided together with them", async (store) => {
    await apply(store, "r", put("c", "write", 1, "w"), put("d", "write", 1, "x"), put("e", "write", 9, "y"));
    for (const [guards, holds] of [
      [[absent("b", "write"), present("c", "write", 1)], true],
      [
        [absent("a", "write"), absent("b", "write"), present("c", "write", 1), present("d", "write", 1)],
        true,
      ],
      [[absent("b", "write"), present("d", "write", 1), present("e", "write", 9)], true],
      [[absent("e", "write", 10), present("e", "write", 9)], true],
      [[absent("e", "write", 9), present("e", "write", 9)], false],
      [[absent("c", "write"), present("d", "write", 1)], false],
      [[absent("c", "write", 2), present("d", "write", 1)], true],
      [[absent("b", "write"), present("d", "write", 2)], false],
      [[absent("d", "write"), present("e", "write", 8)], false],
      [[absent("b", "write"), present("c", "write", 1, { equals: "w" })], true],
      [[absent("b", "write"), present("c", "write", 1, { below: "w" })], false],
    ] as const) {
      assert.equal(await mutate(store, "r", [], guards), holds ? "applied" : "rejected");
      const mark = [put("zz", "txn", 1, "")];
      assert.equal(await mutate(store, "r", mark, guards), holds ? "applied" : "rejected");
    }
  });

  test("present and absent guards together are decided, or refused with nothing changed", async (store) => {
    await apply(store, "r", put("c", "write", 1, "w"));
    const guards = [present("c", "write", 1), absent("d", "lock")];
    const both = () => mutate(store, "r", [put("x", "write", 1, "")], guards);
    if (store.capabilities.mixedGuards ?? true) assert.equal(await both(), "applied");
    else {
      await assert.rejects(both());
      assert.deepEqual(await raw(store), ["r/c/write@1=w"]);
    }
  });

  test("guards see the row as it was before the mutation", async (store) => {
    const once = [absent("c", "write")];
    assert.equal(await mutate(store, "r", [put("c", "write", 1, "a")], once), "applied");
    assert.equal(
      await mutate(store, "r", [erase("c", "write", 0, 9), put("c", "write", 2, "b")], once),
      "rejected",
    );
    assert.equal(
      await mutate(store, "r", [erase("c", "write", 0, 9)], [present("c", "write", 1)]),
      "applied",
    );
  });

  test("after the answer `applied`, the next read shows the mutation", async (store) => {
    for (let i = 1; i <= 50; i++) {
      await apply(store, "r", put("c", "write", i, `${i}`));
      const [cell] = await row(store, "r", { columns: exactly("c") });
      assert.equal(cell?.write, `${i}=${i}`);
      await apply(store, "r", put("c", "lock", i, "l"));
      assert.equal((await row(store, "r"))[0]?.lock, `${i}=l`);
      await apply(store, "r", erase("c", "lock", i, i + 1));
      assert.equal((await row(store, "r"))[0]?.lock, undefined);
    }
  });

  test("a row mutation with the declared maximum of guards and mutations is accepted, and a larger one is refused", async (store) => {
    const most = store.capabilities.mutationCells;
    if (most > 20_000) return;
    const puts = Array.from({ length: most }, (_, i) => put(`c${i}`, "write", 1, ""));
    assert.equal(await mutate(store, "r", puts), "applied");
    await assert.rejects(mutate(store, "s", puts, [absent("d", "lock")]));
    assert.deepEqual(await row(store, "s"), []);
  });

  test("guards of the declared maximum of bytes are decided together, whether they are few and long or many", async (store) => {
    const { mutationCells, guardBytes = forever } = store.capabilities;
    for (const [name, length] of [
      ["many", 4],
      ["f", storeLimits.keyBytes - 1],
    ] as const) {
      const count = Math.min(mutationCells - 1, 300, Math.floor(guardBytes / (length + guardOverhead)));
      const columns = Array.from({ length: count }, (_, i) => `${i}`.padStart(length, "0"));
      const last = columns.at(-1);
      if (last === undefined) continue;
      const none = columns.map((column) => absent(column, "write"));
      const all = columns.map((column) => present(column, "write", 1));
      assert.equal(await mutate(store, name, [put(last, "write", 1, "")], none), "applied");
      assert.equal(await mutate(store, name, [put(last, "write", 2, "")], none), "rejected");
      await apply(store, name, ...columns.map((column) => put(column, "write", 1, "")));
      assert.equal(await mutate(store, name, [erase(last, "write", 0, forever)], all), "applied");
      assert.equal(await mutate(store, name, [put(last, "write", 1, "")], all), "rejected");
    }
  });

  test("keys of the maximum length work, and longer ones are refused, with nothing changed", async (store) => {
    const most = storeLimits.keyBytes;
    for (const [name, column] of [
      ["k".repeat(most), ""],
      ["", "k".repeat(most)],
      ["k".repeat(most / 2), "k".repeat(most / 2)],
      ["\0".repeat(most / 2), ""],
      ["\xff".repeat(most / 3), "\0".repeat(most / 3)],
    ] as const) {
      await apply(store, name, put(column, "write", 1, "w1"), put(column, "txn", 1, "t"));
      await apply(store, name, put(column, "write", 2, "w2"), put(column, "lock", 1, "l"));
      const expected = [{ column, lock: "1=l", write: "2=w2", latest: true }];
      assert.deepEqual(await row(store, name), expected);
      assert.deepEqual(await row(store, name, { columns: exactly(column) }), expected);
      assert.equal((await raw(store, { start: place(name), columns: between(column) })).length >= 4, true);
      await apply(store, name, ...parts.map((part) => erase(column, part, 0, forever)));
    }
    for (const [name, column] of [
      ["k".repeat(most + 1), ""],
      ["k", "k".repeat(most)],
      ["\0".repeat(most / 2), "k"],
    ] as const) {
      await assert.rejects(mutate(store, name, [put("ok", "write", 1, ""), put(column, "write", 1, "")]));
      await assert.rejects(mutate(store, name, [], [absent(column, "write")]));
    }
    assert.deepEqual(await raw(store), []);
  });

  test("invalid requests are refused, with nothing changed", async (store) => {
    const bad = [
      change("r", [put("c", "write", -1, "")]),
      change("r", [put("c", "write", -5, "")]),
      change("r", [put("c", "write", 1.5, "")]),
      change("r", [put("c", "write", Number.NaN, "")]),
      change("r", [put("c", "write", 2 ** 53, "")]),
      change("r", [put("ok", "write", 1, ""), erase("c", "write", Number.NaN, 5)]),
      change("r", [put("ok", "write", 1, "")], [present("c", "write", -1)]),
      change("r", [put("ok", "write", 1, "")], [absent("c", "write", -2, 5)]),
      change("r", [put("ok", "write", 1, "")], [], ""),
      change("r", [put("ok", "write", 1, "")], [], "a\0b"),
      change("r", [put("ok", "write", 1, "")], [], "n".repeat(storeLimits.tableBytes + 1)),
    ];
    for (const each of bad) await assert.rejects(store.mutate(each));
    for (const at of [-1, Number.NaN]) {
      await assert.rejects(async () => store.readRow({ table, row: bytes("r"), columns: exactly("c"), at }));
      await assert.rejects(async () => store.readRange({ table, columns: exactly("c"), at }));
    }
    await assert.rejects(async () => store.readRow({ table, row: bytes("r"), columns: [], at: 1 }));
    await assert.rejects(async () => store.readRange({ table, columns: [], at: 1 }));
    const one = { table, columns: exactly("c"), at: 1, limit: 0 };
    await assert.rejects(async () => store.readRow({ ...one, row: bytes("r") }));
    await assert.rejects(async () => store.readRange(one));
    await assert.rejects(async () => store.readRaw({ ...one, parts }));
    assert.deepEqual(await raw(store), []);
    assert.equal(
      await store.mutate(change("r", [put("c", "write", 1, "x")], [], "n".repeat(storeLimits.tableBytes))),
      "applied",
    );
  });
}
