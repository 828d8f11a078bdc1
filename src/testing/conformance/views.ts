import assert from "node:assert/strict";
import { type CellView, type RawRow, type RowStore, type RowView, storeLimits } from "../../store/index.js";
import {
  apply,
  bytes,
  type Declare,
  erase,
  exactly,
  mutate,
  plainCell,
  plainVersion,
  put,
  range,
  raw,
  row,
  table,
  taking,
  text,
} from "./harness.js";

/**
 * Returns the cell `r/c` as a transaction at `at` sees it, by three reads: of one column, of the
 * row, and of the range.
 */
async function seen(store: RowStore, at: number) {
  const exact = await row(store, "r", { columns: exactly("c"), at });
  const whole = (await row(store, "r", { at })).filter((cell) => cell.column === "c");
  const ranged = (await range(store, { columns: exactly("c"), at })).flatMap((each) => each.cells);
  assert.deepEqual(whole, exact);
  assert.deepEqual(ranged, exact);
  return exact[0];
}

/** Tests of what a transaction at a timestamp sees. */
export function viewTests(test: Declare): void {
  test("a read at S shows the newest write record at or below S", async (store) => {
    for (const timestamp of [5, 1, 9, 3, 7])
      await apply(store, "r", put("c", "write", timestamp, `w${timestamp}`));
    for (let at = 0; at <= 12; at++) {
      const newest = [9, 7, 5, 3, 1].find((each) => each <= at);
      const expected =
        newest === undefined ? undefined : { column: "c", write: `${newest}=w${newest}`, latest: at >= 9 };
      assert.deepEqual(await seen(store, at), expected);
    }
    const forever = await seen(store, Number.POSITIVE_INFINITY);
    assert.deepEqual(forever, { column: "c", write: "9=w9", latest: true });
  });

  test("timestamps go from 0 to the largest safe integer", async (store) => {
    const last = Number.MAX_SAFE_INTEGER;
    const some = [0, 1, 2 ** 32 - 1, 2 ** 32, 2 ** 32 + 1, 2 ** 40, last - 1, last];
    for (const timestamp of some) await apply(store, "r", put("c", "write", timestamp, `${timestamp}`));
    for (const timestamp of some) {
      const expected = { column: "c", write: `${timestamp}=${timestamp}`, latest: timestamp === last };
      assert.deepEqual(await seen(store, timestamp), expected);
    }
  });

  test("a read at S shows the newest lock at or below S, even if nothing is written", async (store) => {
    await apply(store, "r", put("c", "lock", 4, "l4"), put("c", "lock", 6, "l6"));
    assert.equal(await seen(store, 3), undefined);
    assert.deepEqual(await seen(store, 4), { column: "c", lock: "4=l4", latest: true });
    assert.deepEqual(await seen(store, 5), { column: "c", lock: "4=l4", latest: true });
    assert.deepEqual(await seen(store, 6), { column: "c", lock: "6=l6", latest: true });
    await apply(store, "r", put("c", "write", 5, "w5"));
    assert.deepEqual(await seen(store, 3), undefined);
    assert.deepEqual(await seen(store, 4), { column: "c", lock: "4=l4", latest: false });
    assert.deepEqual(await seen(store, 5), { column: "c", lock: "4=l4", write: "5=w5", latest: true });
    assert.deepEqual(await seen(store, 9), { column: "c", lock: "6=l6", write: "5=w5", latest: true });
    await apply(store, "r", erase("c", "lock", 4, 7));
    assert.deepEqual(await seen(store, 4), undefined);
    assert.deepEqual(await seen(store, 9), { column: "c", write: "5=w5", latest: true });
  });

  test("a column with neither lock nor write record at or below S is not shown", async (store) => {
    await apply(store, "r", put("c", "data", 3, "d"), put("c", "txn", 3, "t"), put("d", "write", 8, "w"));
    assert.equal(await seen(store, 9), undefined);
    assert.deepEqual(
      (await row(store, "r", { at: 9 })).map((cell) => cell.column),
      ["d"],
    );
    assert.deepEqual(await range(store, { at: 7 }), []);
  });

  test("visible data cells are at or below S, newest first, and have the right values", async (store) => {
    for (let timestamp = 1; timestamp <= 8; timestamp++) {
      await apply(store, "r", put("c", "data", timestamp, `d${timestamp}`), put("c", "write", timestamp, ""));
    }
    for (const at of [2, 5, 8, 20]) {
      const read = { table, columns: exactly("c"), at };
      const dataOf = ([cell]: readonly CellView[]) =>
        cell!.data.map((version) => [version.timestamp, text(version.value)] as const);
      for (const data of [
        await taking(store.readRow({ ...read, row: bytes("r") }), ({ cells }) => dataOf(cells)),
        await taking(store.readRange(read), ({ rows }) => dataOf(rows[0]!.cells)),
      ]) {
        assert.ok(data.every(([timestamp, value]) => timestamp <= at && value === `d${timestamp}`));
        const timestamps = data.map(([timestamp]) => timestamp);
        assert.deepEqual(
          timestamps,
          [...timestamps].sort((a, b) => b - a),
        );
      }
    }
  });

  test("a lock, a write record and data of a column are in one view", async (store) => {
    await apply(store, "r", put("c", "write", 2, "w"), put("c", "data", 1, "d"), put("c", "lock", 3, "l"));
    assert.deepEqual(await seen(store, 5), { column: "c", lock: "3=l", write: "2=w", latest: true });
    assert.deepEqual(await seen(store, 2), { column: "c", write: "2=w", latest: true });
  });

  test("values may be empty, and have any bytes and length", async (store) => {
    const lengths = [
      0, 1, 63, 64, 65, 1_000, 4_096, 16_383, 16_384, 16_385, 32_767, 32_768, 70_000, 1_000_000,
    ];
    const value = (length: number) => Buffer.alloc(length, Buffer.from([0, 255, 1, length & 0xff]));
    for (const length of lengths) await apply(store, `${length}`, put("c", "write", 1, value(length)));
    for (const length of lengths) {
      await apply(
        store,
        `${length}`,
        put("c", "write", 2, value(length + 1)),
        put("d", "lock", 1, value(length)),
      );
    }
    for (const length of lengths) {
      for (const at of [1, 2]) {
        const written = await row(store, `${length}`, { columns: exactly("c"), at });
        const locked = await row(store, `${length}`, { columns: exactly("d"), at });
        const isRight =
          written[0]!.write === `${at}=${text(value(length + at - 1))}` &&
          locked[0]!.lock === `1=${text(value(length))}`;
        assert.ok(isRight, `a value of ${length} bytes at ${at}`);
      }
    }
  });

  test("the longest value is kept, and a longer one is refused, with nothing changed", async (store) => {
    const longest = Buffer.alloc(storeLimits.valueBytes, "0123456789");
    await apply(store, "r", put("c", "write", 1, longest));
    const read = { table, row: bytes("r"), columns: exactly("c"), at: 9 };
    const isRight = await taking(
      store.readRow(read),
      ({ cells }) => Buffer.compare(cells[0]!.write!.value, longest) === 0,
    );
    assert.ok(isRight);
    const longer = put("c", "write", 2, Buffer.alloc(storeLimits.valueBytes + 1));
    await assert.rejects(mutate(store, "r", [put("d", "write", 2, ""), longer]));
    const cells = await row(store, "r");
    assert.deepEqual(
      cells.map(({ column, latest }) => [column, latest]),
      [["c", true]],
    );
  });

  test("everything in one page is from the same moment", async (store) => {
    for (let i = 0; i < 20; i++) {
      await apply(store, `r${i}`, put("c", "write", 1, `c${i}`), put("d", "write", 1, `d${i}`));
    }
    const columns = exactly("c", "d");
    const two = await taking(store.readRow({ table, row: bytes("r7"), columns, at: 9 }), (page) =>
      page.cells.map((cell) => text(cell.write!.value)),
    );
    // The page may end after any column.
    assert.deepEqual(two, ["c7", "d7"].slice(0, Math.max(1, two.length)));
    const all = await taking(store.readRange({ table, columns, at: 9 }), (page) =>
      page.rows.map((each) => [text(each.row), ...each.cells.map((cell) => text(cell.write!.value))]),
    );
    assert.ok(all.length > 1);
    // The page may end within its last row.
    for (const [name, ...values] of all.slice(0, -1)) {
      const i = name!.slice(1);
      assert.deepEqual(values, [`c${i}`, `d${i}`]);
    }
  });

  test("the bytes of a page may be kept, if it is a page of a range or came with a promise", async (store) => {
    const names = ["r", "s", "t"];
    for (const name of names) {
      const mutations = [put("c", "write", 1, `w${name}`), put("c", "lock", 2, `l${name}`)];
      await apply(store, name, ...mutations, put("c", "data", 1, `d${name}`));
    }
    const columns = exactly("c");
    const ofRows = (rows: readonly RowView[]) =>
      rows.flatMap(({ row: name, cells }) => [
        text(name),
        ...cells.map((cell) => [plainCell(cell), cell.data.map(plainVersion)]),
      ]);
    const ofRaw = (rows: readonly RawRow[]) =>
      rows.flatMap(({ row: name, cells }) =>
        cells.flatMap(({ column, versions }) => [text(name), text(column), ...versions.map(plainVersion)]),
      );
    const page = await store.readRange({ table, columns, at: 9 });
    const first = ofRows(page.rows);
    const rawPage = await store.readRaw({ table, columns, parts: ["write", "lock", "data"] });
    const second = ofRaw(rawPage.rows);
    const answer = store.readRow({ table, row: bytes("r"), columns, at: 9 });
    const rows = answer instanceof Promise ? [await answer] : [];
    const third = ofRows(rows);
    for (const name of names) {
      await apply(store, name, put("c", "write", 3, `W${name}`), erase("c", "lock", 0, 9));
      await row(store, name);
    }
    await range(store);
    await raw(store);
    assert.deepEqual([ofRows(page.rows), ofRaw(rawPage.rows), ofRows(rows)], [first, second, third]);
  });

  test("copies from an answer stay valid, whatever is read next", async (store) => {
    await apply(store, "r", put("c", "write", 1, "first"));
    await apply(store, "s", put("c", "write", 1, "second"));
    const read = (name: string) =>
      taking(store.readRow({ table, row: bytes(name), columns: exactly("c"), at: 9 }), (page) =>
        Buffer.from(page.cells[0]!.write!.value),
      );
    const first = await read("r");
    const second = await read("s");
    await apply(store, "r", put("c", "write", 2, "third"));
    assert.deepEqual([text(first), text(second)], ["first", "second"]);
  });
}
