import { InvalidArgumentError } from "../../errors/index.js";
import { parkedTable } from "../../observer/index.js";
import {
  allColumns,
  type Part,
  type Position,
  parts,
  type RawPage,
  type RowMutation,
  type RowStore,
} from "../../store/index.js";
import { feedTable, hintTable, systemTable } from "../../transaction/index.js";

/** One version that a store contains. */
export interface StoredVersion {
  readonly table: string;
  readonly row: Uint8Array;
  readonly column: Uint8Array;
  readonly part: Part;
  readonly timestamp: number;
  readonly value: Uint8Array;
}

/** The protocol's own tables. */
export const ownTables: readonly string[] = [systemTable, hintTable, parkedTable, feedTable];

/** Yields every version in a table of a store that answers synchronously. */
export function* storedVersions(store: RowStore, table: string): Generator<StoredVersion, void> {
  let start: Position | undefined;
  do {
    const page: RawPage | Promise<RawPage> = store.readRaw({ table, start, columns: allColumns, parts });
    if (page instanceof Promise) {
      throw new InvalidArgumentError(
        `\`adopt\` and \`atRest\` of a ProtocolWatcher need a store that answers reads at once, but ${store.description} answered with a promise. ` +
          "Leave these calls out: the watcher checks each change nevertheless.",
      );
    }
    for (const { row, cells } of page.rows)
      for (const { column, versions } of cells)
        for (const { part, timestamp, value } of versions)
          yield { table, row, column, part, timestamp, value };
    start = page.next;
  } while (start !== undefined);
}

/** Returns a mutation that would write a version. */
export function putOf({ table, row, column, part, timestamp, value }: StoredVersion): RowMutation {
  return { table, row, guards: [], mutations: [{ type: "put", column, part, timestamp, value }] };
}
