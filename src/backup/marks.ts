import { decodeJson, isString, listOf, record } from "../observer/index.js";
import { type Position, pages, type RowStore } from "../store/index.js";
import { decodeWrite, putHint, systemCell, systemTable } from "../transaction/index.js";

/**
 * A backup writes a random *mark* into the folder before it reads the pages. A later backup leaves
 * out pages that have not changed since an earlier one only if it finds the earlier one's mark in the
 * state that it copies. Then the earlier state is certainly a past of this one. Without a mark, that
 * would not be certain: the folder may have been replaced by a copy, or have lost its last
 * transactions to a power cut, and then uses their numbers again.
 */
const column = Buffer.from("marks");
const rowPrefix = "backups/";
const rowsEnd = Buffer.from("backups0");
/** The folder has a single record for each place of backups, at this timestamp. */
const at = 1;
/** A killed backup leaves a mark without a backup, so the folder keeps more than the last one. */
const kept = 16;

const isMarks = record<{ readonly marks: readonly string[] }>({ marks: listOf(isString) });

/** The marks in the folder for the place with this id, the newest first. */
export async function readMarks(store: RowStore, place: string): Promise<readonly string[]> {
  const { table, row } = cellOf(place);
  const read = { table, row, columns: [{ exact: column }], at: Number.POSITIVE_INFINITY };
  // A page that comes at once may be lent, and must not be awaited.
  const answer = store.readRow(read);
  const page = answer instanceof Promise ? await answer : answer;
  const stored = page.cells[0]?.write?.value;
  if (stored === undefined) return [];
  try {
    const bytes = decodeWrite(stored).value ?? new Uint8Array(0);
    return decodeJson(bytes, `The marks of the backups in ${place}`, isMarks).marks;
  } catch {
    // Without marks, the next backup copies all pages.
    return [];
  }
}

/** Adds a mark in front of those that {@link readMarks} has returned. */
export async function addMark(
  store: RowStore,
  place: string,
  mark: string,
  before: readonly string[],
): Promise<void> {
  const { table, row } = cellOf(place);
  const marks = [mark, ...before].slice(0, kept);
  const value = Buffer.from(JSON.stringify({ marks }));
  await store.mutate({ table, row, guards: [], mutations: [putHint(column, at, value)] });
}

/** Removes all marks. The next backup into each place then copies all pages. */
export async function clearMarks(store: RowStore): Promise<void> {
  const columns = [{ exact: column }];
  const read = (start?: Position) =>
    store.readRange({
      table: systemTable,
      start,
      end: { row: rowsEnd },
      columns,
      at: Number.POSITIVE_INFINITY,
    });
  const rows: Uint8Array[] = [];
  for await (const page of pages(read, { row: Buffer.from(rowPrefix) }))
    rows.push(...page.rows.map(({ row }) => row));
  for (const row of rows) {
    await store.mutate({
      table: systemTable,
      row,
      guards: [],
      mutations: [{ type: "delete", column, part: "write", from: 0, to: Number.POSITIVE_INFINITY }],
    });
  }
}

function cellOf(place: string) {
  return systemCell(`${rowPrefix}${place}`, column.toString());
}
