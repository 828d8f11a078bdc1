import type { Registry, RegistryView } from "../observer/index.js";
import { currentTimestamp } from "../oracle/index.js";
import { SnapshotReader, systemCell } from "../transaction/index.js";

/** A unique constraint or index, by its table, that has entries of an older version. */
export interface RebuildDue {
  readonly table: string;
  /** The version in which programs keep it. */
  readonly version: number;
  /** The version of the last rebuild, or the one in which the table was first recorded. */
  readonly built: number;
}

/** The cells in which a unique constraint or index records its rebuilds, by its table. */
export const rebuildCells = (table: string) => [
  rebuiltCell(table),
  systemCell(`note/rebuild/${table}`, "note"),
];

const rebuiltCell = (table: string) => systemCell(`note/rebuilt/${table}`, "note");

/** The unique constraints and indexes that were not rebuilt since their version was raised. */
export async function rebuildsDue(
  { context }: Registry,
  { tables }: RegistryView,
): Promise<readonly RebuildDue[]> {
  const raised = [...tables.values()].filter(({ version = 1, firstVersion = 1 }) => version > firstVersion);
  if (raised.length === 0) return [];
  const reader = new SnapshotReader(context, await currentTimestamp(context));
  const due: RebuildDue[] = [];
  for (const { name, version = 1, firstVersion = 1 } of raised) {
    const { table, row, column } = rebuiltCell(name);
    const [note] = (await reader.row(table, row, [{ exact: column }], 1)).cells;
    const built = note?.value === undefined ? firstVersion : Number(Buffer.from(note.value).toString());
    if (built < version) due.push({ table: name, version, built });
  }
  return due;
}
