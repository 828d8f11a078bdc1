import assert from "node:assert/strict";
import type { RowStore, Version } from "../../store/index.js";
import {
  apply,
  between,
  bytes,
  type Declare,
  erase,
  exactly,
  place,
  put,
  range,
  raw,
  row,
  table,
  taking,
  text,
} from "./harness.js";

const wideColumns = 2_500;
const name = (i: number) => `c${String(i).padStart(5, "0")}`;

/** Writes one row with many columns between small rows. */
async function fillWide(store: RowStore): Promise<void> {
  await apply(store, "a", put("c00000", "write", 1, "a"));
  const step = Math.min(500, store.capabilities.mutationCells);
  for (let i = 0; i < wideColumns; i += step) {
    const columns = Array.from({ length: Math.min(step, wideColumns - i) }, (_, j) => name(i + j));
    await apply(store, "wide", ...columns.map((column) => put(column, "write", 1, column)));
  }
  await apply(store, "z", put("c00000", "write", 1, "z"), put("zz", "write", 1, "z"));
}

const allColumns = Array.from({ length: wideColumns }, (_, i) => name(i));

/** Tests of pages, and of reading on from one page to the next. */
export function pageTests(test: Declare): void {
  test("pages of a row hold at most their limit, and return every column once, in order", async (store) => {
    await fillWide(store);
    for (const [limit, end] of [[1, 140], [7, 400], [1_000], [undefined]] as const) {
      const some = end === undefined ? between("") : between("c00100", name(end));
      const expected = end === undefined ? allColumns : allColumns.slice(100, end);
      const shown = await row(store, "wide", { columns: some, ...(limit === undefined ? {} : { limit }) });
      assert.deepEqual(
        shown.map((cell) => cell.column),
        expected,
      );
    }
  });

  test("a read of many columns and ranges of a row returns what exists of each", async (store) => {
    await fillWide(store);
    const columns = [...exactly("b", "c00003"), ...between("c00010", "c00013"), ...exactly("c02000", "d")];
    const expected = ["c00003", "c00010", "c00011", "c00012", "c02000"];
    for (const limit of [1, 2, 3, 100]) {
      const shown = await row(store, "wide", { columns, limit });
      assert.deepEqual(
        shown.map((cell) => cell.column),
        expected,
      );
    }
  });

  test("pages of a range hold at most their limit of rows, and return every row once, in order", async (store) => {
    const rows = Array.from({ length: 60 }, (_, i) => `r${String(i).padStart(3, "0")}`);
    for (const each of rows) await apply(store, each, put("c", "write", 1, each), put("d", "write", 1, each));
    for (const limit of [1, 2, 7, 59, 60, 61, 1_000]) {
      const shown = await range(store, { limit });
      assert.deepEqual(
        shown.map((each) => each.row),
        rows,
      );
      assert.ok(shown.every((each) => each.cells.length === 2));
      if (!store.capabilities.reverseScans) continue;
      const reversed = await range(store, { limit, reverse: true, start: place("r010"), end: place("r050") });
      assert.deepEqual(
        reversed.map((each) => each.row),
        rows.slice(10, 50).reverse(),
      );
      assert.ok(reversed.every((each) => each.cells[0]!.column === "c" && each.cells[1]!.column === "d"));
    }
  });

  test("a wide row may be divided over pages, and is complete when they are joined", async (store) => {
    await fillWide(store);
    const shown = await range(store);
    assert.deepEqual(
      shown.map((each) => [each.row, each.cells.length]),
      [
        ["a", 1],
        ["wide", wideColumns],
        ["z", 2],
      ],
    );
    assert.deepEqual(
      shown[1]!.cells.map((cell) => cell.column),
      allColumns,
    );
    const middle = await range(store, { start: place("wide", "c01000"), end: place("wide", "c02400") });
    assert.deepEqual(
      middle.flatMap((each) => each.cells.map((cell) => cell.column)),
      allColumns.slice(1_000, 2_400),
    );
  });

  test("columns of a wide row that were not requested are skipped", async (store) => {
    await fillWide(store);
    const columns = [...exactly("c00000", "c01234"), ...between("c02000", "c02003"), ...exactly("zz")];
    const expected = [
      ["a", ["c00000"]],
      ["wide", ["c00000", "c01234", "c02000", "c02001", "c02002"]],
      ["z", ["c00000", "zz"]],
    ];
    const plain = (rows: Awaited<ReturnType<typeof range>>) =>
      rows.map((each) => [each.row, each.cells.map((cell) => cell.column)]);
    assert.deepEqual(plain(await range(store, { columns })), expected);
    assert.deepEqual(plain(await range(store, { columns: exactly("zz") })), [["z", ["zz"]]]);
    assert.deepEqual(plain(await range(store, { columns: exactly("c01234") })), [["wide", ["c01234"]]]);
    if (!store.capabilities.reverseScans) return;
    assert.deepEqual(plain(await range(store, { columns, reverse: true })), [...expected].reverse());
    const last = await range(store, { columns: exactly("c01234"), reverse: true });
    assert.deepEqual(plain(last), [["wide", ["c01234"]]]);
  });

  test("a page is limited in bytes", async (store) => {
    const value = Buffer.alloc(300_000, 7);
    for (let i = 0; i < 12; i++) await apply(store, `r${10 + i}`, put("c", "write", 1, value));
    let start: { row: Uint8Array } | undefined;
    let rows = 0;
    let pages = 0;
    do {
      const { count, next } = await taking(
        store.readRange({ table, columns: between(""), at: 9, start }),
        (page) => ({
          count: page.rows.length,
          next: page.next === undefined ? undefined : { row: Buffer.from(page.next.row) },
        }),
      );
      rows += count;
      pages++;
      start = next;
    } while (start !== undefined);
    assert.equal(rows, 12);
    assert.ok(pages > 1, "4 MB do not come in one page");
    const names = Array.from({ length: 12 }, (_, i) => `r${10 + i}`);
    const shown = (await range(store)).map((each) => each.row);
    assert.deepEqual(shown, names);
    const versions = (await raw(store)).map((each) => each.split("/")[0]);
    assert.deepEqual(versions, names);
    if (store.capabilities.reverseScans) {
      const reversed = (await range(store, { reverse: true })).map((each) => each.row);
      assert.deepEqual(reversed, names.toReversed());
    }
    for (const each of names) await apply(store, "wide", put(each, "write", 1, value));
    const columns = (await row(store, "wide")).map(({ column }) => column);
    assert.deepEqual(columns, names);
  });

  test("a reversed read of more rows than a page returns every row once, in order", async (store) => {
    if (!store.capabilities.reverseScans) return;
    const names = Array.from({ length: 1_500 }, (_, i) => `r${String(i).padStart(4, "0")}`);
    await Promise.all(names.map((each) => apply(store, each, put("c", "write", 1, each))));
    const shown = (await range(store, { reverse: true })).map((each) => each.row);
    assert.deepEqual(shown, names.toReversed());
  });

  test("rows with nothing visible at S do not delay a scan or end it", async (store) => {
    for (let i = 0; i < 300; i++) await apply(store, `r${i}`, put("c", "write", i < 299 ? 50 : 1, "x"));
    const shown = await range(store, { at: 10 });
    assert.deepEqual(
      shown.map((each) => each.row),
      ["r299"],
    );
  });

  test("a reversed read never divides a row, and returns its columns ascending", async (store) => {
    await fillWide(store);
    if (!store.capabilities.reverseScans) {
      const reversed = async () => store.readRange({ table, columns: between(""), at: 9, reverse: true });
      await assert.rejects(reversed);
      return;
    }
    const read = { table, columns: between(""), at: 9, reverse: true, limit: 2 };
    const rows = await taking(store.readRange(read), (page) =>
      page.rows.map((each) => [text(each.row), each.cells.map((cell) => text(cell.column))] as const),
    );
    assert.deepEqual(rows[0], ["z", ["c00000", "zz"]]);
    if (rows.length > 1) assert.deepEqual(rows[1], ["wide", allColumns]);
    const part = await range(store, {
      reverse: true,
      start: place("wide", "c02490"),
      end: place("z", "d"),
    });
    assert.deepEqual(
      part.map((each) => [each.row, each.cells.length]),
      [
        ["z", 1],
        ["wide", 10],
      ],
    );
  });

  test("a raw read returns every version, by part, newest first, and all versions of a cell in one page", async (store) => {
    for (const timestamp of [3, 1, 2]) {
      await apply(
        store,
        "r",
        put("c", "txn", timestamp, `t${timestamp}`),
        put("c", "data", timestamp, `d${timestamp}`),
        put("c", "write", timestamp, `w${timestamp}`),
        put("c", "lock", timestamp, `l${timestamp}`),
        put("only", "txn", timestamp, "t"),
      );
    }
    const versions = (part: string, letter: string, column = "c") =>
      [3, 2, 1].map((each) => `r/${column}/${part}@${each}=${letter}${each}`);
    const only = [3, 2, 1].map((each) => `r/only/txn@${each}=t`);
    const all = [
      ...versions("lock", "l"),
      ...versions("write", "w"),
      ...versions("data", "d"),
      ...versions("txn", "t"),
    ];
    assert.deepEqual(await raw(store), [...all, ...only]);
    assert.deepEqual(await raw(store, { limit: 1 }), [...all, ...only]);
    assert.deepEqual(await raw(store, { parts: ["data", "lock"] }), [
      ...versions("lock", "l"),
      ...versions("data", "d"),
    ]);
    assert.deepEqual(await raw(store, { parts: ["write"], from: 2, to: 3 }), ["r/c/write@2=w2"]);
    assert.deepEqual(await raw(store, { parts: ["txn"], from: 2 }), [
      "r/c/txn@3=t3",
      "r/c/txn@2=t2",
      ...only.slice(0, 2),
    ]);
    assert.deepEqual(await raw(store, { parts: ["txn"], to: 2, columns: exactly("only") }), only.slice(2));
    assert.deepEqual(await raw(store, { from: 5, to: 5 }), []);
    assert.deepEqual(await raw(store, { from: 3, to: 2 }), []);
  });

  test("a cell may have more versions than a page has cells", async (store) => {
    const count = 1_500;
    const step = Math.min(500, store.capabilities.mutationCells);
    for (let from = 1; from <= count; from += step) {
      const timestamps = Array.from({ length: Math.min(step, count + 1 - from) }, (_, i) => from + i);
      await apply(store, "r", ...timestamps.map((each) => put("c", "write", each, `${each}`)));
    }
    await apply(store, "r", put("c", "lock", 1, "l"), put("d", "write", 1, "d"));
    const versions = Array.from({ length: count }, (_, i) => `r/c/write@${count - i}=${count - i}`);
    assert.deepEqual(await raw(store), ["r/c/lock@1=l", ...versions, "r/d/write@1=d"]);
    for (const at of [1, 2, count - 1, count]) {
      const [cell] = await row(store, "r", { columns: exactly("c"), at });
      assert.deepEqual(cell, { column: "c", lock: "1=l", write: `${at}=${at}`, latest: at === count });
      assert.deepEqual((await range(store, { at }))[0]!.cells[0], cell);
    }
  });

  test("a raw read may leave out a cell of one write record that `skip` accepts, and no other", async (store) => {
    await apply(store, "r", put("alone", "write", 5, "skip"), put("kept", "write", 5, "keep"));
    await apply(store, "r", put("newer", "write", 5, "skip"), put("newer", "write", 3, "keep"));
    await apply(store, "r", put("twice", "write", 5, "skip"), put("twice", "write", 3, "skip"));
    for (const part of ["lock", "data", "txn"] as const)
      await apply(store, "r", put(part, "write", 5, "skip"), put(part, part, 4, "x"));
    const skip = ({ value }: Version) => text(value) === "skip";
    for (const options of [{}, { limit: 1 }, { versions: 2 }]) {
      const all = await raw(store, options);
      const shown = await raw(store, { ...options, skip });
      const left = all.filter((each) => !each.startsWith("r/alone/"));
      assert.deepEqual(
        shown.filter((each) => !each.startsWith("r/alone/")),
        left,
      );
    }
  });

  test("a raw read with a limit returns the newest versions of each part; another read returns the older ones", async (store) => {
    for (let timestamp = 1; timestamp <= 40; timestamp++) {
      await apply(store, "r", put("c", "write", timestamp, `w${timestamp}`), put("c", "txn", timestamp, "t"));
      if (timestamp % 2 === 0) await apply(store, "r", put("d", "data", timestamp, "d"));
    }
    const writes = (from: number, to: number) =>
      Array.from({ length: from - to + 1 }, (_, i) => `r/c/write@${from - i}=w${from - i}`);
    for (const versions of [1, 3, 39, 40, 41]) {
      const shown = await raw(store, { parts: ["write"], columns: exactly("c"), versions });
      assert.deepEqual(shown, writes(40, Math.max(1, 41 - versions)));
      const below = await raw(store, { parts: ["write"], columns: exactly("c"), versions, to: 20 });
      assert.deepEqual(below, writes(19, Math.max(1, 20 - versions)));
      const all = await raw(store, { versions });
      const counts = [40, 40, 20].map((count) => Math.min(count, versions));
      assert.equal(all.length, counts[0]! + counts[1]! + counts[2]!);
    }
    assert.deepEqual(await raw(store, { parts: ["data"], from: 10, versions: 2 }), [
      "r/d/data@40=d",
      "r/d/data@38=d",
    ]);
  });

  test("a delete of some of many versions leaves exactly the others, even if it is done in pieces", async (store) => {
    const all = Array.from({ length: 60 }, (_, i) => 60 - i);
    for (const timestamp of all.toReversed())
      await apply(store, "r", put("c", "write", timestamp, "a value of some length"));
    const left = async () =>
      (await raw(store, { parts: ["write"] })).map((each) => Number(each.split("@")[1]!.split("=")[0]));
    await apply(
      store,
      "r",
      erase("c", "write", 30, 40),
      erase("c", "write", 5, 6),
      erase("c", "write", 7, 8),
    );
    const without = all.filter((each) => !(each >= 30 && each < 40) && each !== 5 && each !== 7);
    assert.deepEqual(await left(), without);
    await apply(
      store,
      "r",
      erase("c", "write", 41, 100),
      put("c", "write", 20, "again"),
      erase("c", "write", 20, 21),
    );
    assert.deepEqual(
      await left(),
      without.filter((each) => each < 41 && each !== 20),
    );
    await apply(store, "r", erase("c", "write", 0, 40));
    assert.deepEqual(await left(), [40]);
    await apply(store, "r", erase("c", "write", 0, 100));
    assert.deepEqual(await raw(store), []);
  });

  test("raw reads continue from any position, over wide rows too", async (store) => {
    await fillWide(store);
    const shown = await raw(store, { start: place("a"), end: place("z") });
    assert.equal(shown.length, wideColumns + 1);
    assert.equal(shown.at(-1), `wide/${name(wideColumns - 1)}/write@1=${name(wideColumns - 1)}`);
    const part = await raw(store, { start: place("wide", "c02495"), end: place("z", "d") });
    assert.deepEqual(
      part.map((each) => each.split("/")[1]),
      [...allColumns.slice(2_495), "c00000"],
    );
    const some = await raw(store, { columns: exactly("c01000", "zz") });
    assert.deepEqual(some, ["wide/c01000/write@1=c01000", "z/zz/write@1=z"]);
    await apply(store, "wide", erase("c01000", "write", 0, 5));
    assert.deepEqual(await raw(store, { columns: exactly("c01000") }), []);
  });

  test("split points are rows in order, at most as many as requested", async (store) => {
    for (let i = 0; i < 400; i++)
      await apply(store, `r${String(i).padStart(4, "0")}`, put("c", "write", 1, "x"));
    await apply(store, "r0000", ...Array.from({ length: 90 }, (_, i) => put(name(i), "write", 1, "x")));
    for (const most of [0, 1, 3, 16]) {
      const points = await store.splitPoints(table, most);
      assert.ok(points.length <= most);
      for (let i = 1; i < points.length; i++) assert.ok(Buffer.compare(points[i - 1]!, points[i]!) < 0);
      const first = bytes("r0000");
      // A store that samples its rows may return even the first row as a split point.
      for (const point of points) assert.ok(Buffer.compare(point, first) >= 0);
    }
  });
}
