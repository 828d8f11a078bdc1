import assert from "node:assert/strict";
import type { RowStore, ZeroCopyRead, ZeroCopyStore } from "../../store/index.js";
import {
  apply,
  awkwardKeys,
  bytes,
  type Declare,
  erase,
  exactly,
  place,
  put,
  range,
  row,
  table,
  text,
} from "./harness.js";

/** The visible write records of a column, each as `row=record`. */
interface Shown {
  readonly all: readonly string[];
  /** The rows that the store lent. */
  readonly lent: readonly string[];
}

/** Returns the record of `version`, which is `timestamp=record`. */
const recordOf = (version: string) => version.slice(version.indexOf("=") + 1);

/**
 * Compares a lent cell with an ordinary read of its row. Returns false if the store lent nothing.
 */
export async function checkLentCell(
  store: RowStore,
  read: { readonly table: string; readonly row: string; readonly column: string; readonly at: number },
): Promise<boolean> {
  const { zeroCopy } = store;
  if (zeroCopy === undefined) return false;
  const [seen] = await row(store, read.row, {
    table: read.table,
    columns: exactly(read.column),
    at: read.at,
  });
  // The row is a slice of a larger buffer.
  const rowBytes = bytes(`${read.row}and more`);
  const column = bytes(read.column);
  const lent = showLent(zeroCopy.cell(read.table, rowBytes, read.row.length, column, read.at));
  const rowText = rowBytes.toString("utf8", 0, read.row.length);
  if (zeroCopy.textCell !== undefined && Buffer.from(rowText).equals(bytes(read.row))) {
    assert.deepEqual(showLent(zeroCopy.textCell(read.table, rowText, column, read.at)), lent);
  }
  if (lent === undefined) return false;
  if (lent === "absent") {
    assert.equal(seen, undefined);
    return true;
  }
  assert.ok(seen?.write !== undefined, "what is lent is there");
  assert.equal(seen.lock, undefined);
  assert.equal(seen.latest, lent.latest);
  assert.equal(lent.record, recordOf(seen.write));
  return true;
}

/** Copies what was lent, since the next read may change it. */
function showLent(lent: ReturnType<ZeroCopyStore["cell"]>) {
  if (lent === undefined || lent === "absent") return lent;
  return { record: text(lent.buffer.subarray(lent.start, lent.end)), latest: lent.latest };
}

/**
 * Reads a whole range by zero-copy reads. Reads each row that the store does not lend by an
 * ordinary read.
 */
async function lentRange(store: RowStore, zeroCopy: ZeroCopyStore, read: ZeroCopyRead): Promise<Shown> {
  const all: string[] = [];
  const lent: string[] = [];
  let { start, end } = read;
  const goOn = (next: ZeroCopyRead["start"]) => {
    if (read.reverse) end = next;
    else start = next;
    return next !== undefined;
  };
  for (let pages = 0; ; pages++) {
    assert.ok(pages < 10_000, "pages come to an end");
    const page: string[] = [];
    const answer = zeroCopy.column({ ...read, start, end }, (...[rows, from, to, record, first, last]) => {
      page.push(`${text(rows.subarray(from, to))}=${text(record.subarray(first, last))}`);
      return true;
    });
    if (answer !== undefined) {
      assert.ok(page.length <= read.limit, "a page holds its limit");
      assert.equal(page.length, answer.cells);
      all.push(...page);
      lent.push(...page);
      if (!goOn(answer.next)) return { all, lent };
      if (!answer.stopped) continue;
    }
    const { rows, next } = await store.readRange({
      ...read,
      start,
      end,
      columns: [{ exact: read.column }],
      limit: 1,
    });
    for (const each of rows) {
      const { write } = each.cells[0]!;
      if (write !== undefined) all.push(`${text(each.row)}=${text(write.value)}`);
    }
    if (!goOn(next)) return { all, lent };
  }
}

/** Compares the lent cells of a column with an ordinary read of the range. */
export async function checkLentColumn(store: RowStore, read: ZeroCopyRead): Promise<void> {
  if (store.zeroCopy === undefined) return;
  const rows = await range(store, {
    table: read.table,
    columns: [{ exact: read.column }],
    at: read.at,
    start: read.start,
    end: read.end,
    reverse: read.reverse,
  });
  const expected = rows.flatMap((each) => {
    const { write } = each.cells[0]!;
    return write === undefined ? [] : [`${each.row}=${recordOf(write)}`];
  });
  const shown = await lentRange(store, store.zeroCopy, read);
  assert.deepEqual(shown.all, expected);
  const locked = new Set(rows.flatMap((each) => (each.cells[0]!.lock === undefined ? [] : [each.row])));
  for (const each of shown.lent)
    assert.ok(!locked.has(each.slice(0, each.indexOf("="))), "no lock is lent over");
}

function directions(store: RowStore): readonly boolean[] {
  return store.capabilities.reverseScans ? [false, true] : [false];
}

/**
 * Tests that lent cells equal ordinary reads. A store that lends nothing passes, because nothing
 * can differ.
 */
export function zeroCopyTests(test: Declare): void {
  test("a lent cell equals an ordinary read of its row", async (store) => {
    for (const key of awkwardKeys) {
      for (const timestamp of [3, 6, 9])
        await apply(store, key, put(key, "write", timestamp, `${timestamp}${key}`));
    }
    for (const key of awkwardKeys) {
      for (const at of [0, 3, 5, 6, 8, 9, 10, Number.POSITIVE_INFINITY]) {
        await checkLentCell(store, { table, row: key, column: key, at });
        await checkLentCell(store, { table, row: key, column: "not there", at });
      }
    }
  });

  test("a cell with a visible lock or visible data is not lent", async (store) => {
    await apply(store, "r", put("c", "write", 3, "three"), put("c", "lock", 5, "lock"));
    await apply(store, "r", put("d", "write", 3, "three"), put("d", "data", 2, "data"));
    await apply(store, "r", put("only", "lock", 5, "lock"));
    for (const column of ["c", "d", "only"]) {
      for (const at of [0, 3, 4, 5, 9]) await checkLentCell(store, { table, row: "r", column, at });
      const read = {
        table,
        start: undefined,
        end: undefined,
        column: bytes(column),
        at: 9,
        reverse: false,
        limit: 9,
      };
      await checkLentColumn(store, read);
    }
    assert.equal(store.zeroCopy?.cell(table, bytes("r"), 1, bytes("c"), 9), undefined);
    assert.equal(store.zeroCopy?.cell(table, bytes("r"), 1, bytes("only"), 9), undefined);
    await apply(store, "r", erase("c", "lock", 0, 9));
    await checkLentCell(store, { table, row: "r", column: "c", at: 9 });
  });

  test("a column's cells are lent in order, page by page, from position to position, among other columns", async (store) => {
    const others = Array.from({ length: 9 }, (_, i) => put(`o${i}`, "write", 1, "other"));
    for (const key of awkwardKeys) {
      await apply(store, key, ...others, put("b", "write", 2, "b"), put("z", "write", 2, "z"));
      if (key !== "a") await apply(store, key, put("o", "write", 2, `2${key}`));
      if (key.length === 2) await apply(store, key, put("o", "write", 5, `5${key}`));
      if (key === "ab") await apply(store, key, put("o", "lock", 4, "lock"));
    }
    const some = [undefined, place("a\0"), place("a", "o"), place("ab", "z"), place("b")];
    for (const reverse of directions(store)) {
      for (const limit of [1, 2, 7, 1_000]) {
        for (const at of [1, 3, 9]) {
          for (const start of some) {
            const read = { table, at, reverse, limit, start };
            for (const column of ["o", "b", "o4", "not there"].map(bytes)) {
              await checkLentColumn(store, { ...read, end: undefined, column });
              await checkLentColumn(store, { ...read, end: place("ab"), column });
            }
          }
        }
      }
    }
  });

  test("a cell that is not lent is the first of the remaining range", async (store) => {
    const { zeroCopy } = store;
    const names = ["r0", "r1", "r2", "r3", "r4", "r5"];
    for (const name of names) await apply(store, name, put("c", "write", 1, name));
    for (const reverse of directions(store)) {
      const inOrder = reverse ? [...names].reverse() : names;
      for (let most = 0; most < names.length; most++) {
        const read = {
          table,
          start: undefined,
          end: undefined,
          column: bytes("c"),
          at: 9,
          reverse,
          limit: 100,
        };
        const taken: string[] = [];
        const page = zeroCopy?.column(read, (...[, , , record, start, end]) => {
          if (taken.length === most) return false;
          taken.push(text(record.subarray(start, end)));
          return true;
        });
        if (page === undefined) continue;
        assert.ok(page.stopped);
        assert.equal(page.cells, taken.length);
        const { all } = await lentRange(store, zeroCopy!, {
          ...read,
          ...(reverse ? { end: page.next } : { start: page.next }),
        });
        assert.deepEqual([...taken, ...all.map(recordOf)], inOrder);
      }
    }
  });

  test("nothing is lent once the store is closed", async (store) => {
    await apply(store, "r", put("c", "write", 1, "x"));
    await store.close();
    assert.equal(store.zeroCopy?.cell(table, bytes("r"), 1, bytes("c"), 9), undefined);
    const read = {
      table,
      start: undefined,
      end: undefined,
      column: bytes("c"),
      at: 9,
      reverse: false,
      limit: 9,
    };
    assert.equal(
      store.zeroCopy?.column(read, () => true),
      undefined,
    );
  });
}
