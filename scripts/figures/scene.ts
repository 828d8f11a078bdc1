import type { AnyTable, Database, InspectedColumn, KeyOf } from "percolatordb";
import { decodeAcknowledgment, parseRecordColumn } from "../../src/observer/index.js";
import { definition } from "../../src/schema/index.js";

/** The contents of a column's parts, one line each, with the timestamps of the database. */
export interface ShownCell {
  readonly row: string;
  readonly column: string;
  readonly write: readonly Line[];
  readonly lock: readonly Line[];
  readonly status: readonly Line[];
}

/** A line: texts, and timestamps between them. */
export type Line = readonly (string | number)[];

/** One moment of a scene. */
export interface Panel {
  readonly title: string;
  readonly notes: readonly Line[];
  readonly cells: readonly ShownCell[];
  /** The current hints: observer, row, and the commit of the change. */
  readonly hints: readonly Line[];
}

/** A sequence of moments of some rows, recorded from a running database. */
export class Scene {
  readonly panels: Panel[] = [];
  readonly #rows: readonly (readonly [AnyTable, string])[];
  readonly withHints: boolean;

  constructor(rows: readonly (readonly [AnyTable, string])[], withHints = false) {
    this.#rows = rows;
    this.withHints = withHints;
  }

  /** Records the current result of `db.inspect`. */
  async take(db: Database, title: string, ...notes: readonly Line[]): Promise<void> {
    const cells: ShownCell[] = [];
    for (const [table, row] of this.#rows) {
      for (const column of await db.inspect(table, row as KeyOf<typeof table>))
        cells.push(shown(table, row, column));
    }
    const hints: Line[] = [];
    for await (const { observer, row, timestamp } of db.pending()) {
      hints.push([`${observer} is due on ${String(row)} (commit `, timestamp, ")"]);
    }
    this.panels.push({ title, notes, cells, hints });
  }
}

function shown(table: AnyTable, row: string, inspected: InspectedColumn): ShownCell {
  const record = parseRecordColumn(inspected.path);
  const value = (bytes: Uint8Array | undefined): Line => {
    if (bytes === undefined) return [];
    if (record === undefined) return [` ${formatted(table, inspected.column, bytes)}`];
    return [" start ", decodeAcknowledgment(bytes).start];
  };
  const own = inspected.path;
  return {
    row,
    column: record === undefined ? inspected.column : `ack of ${record.observer}`,
    write: inspected.writes.map(({ commitTimestamp, startTimestamp, kind, value: bytes }) => [
      commitTimestamp,
      `: ${kind}`,
      ...value(bytes),
      ", began ",
      startTimestamp,
    ]),
    lock: inspected.locks.map(({ startTimestamp, primary, isPrimary, minCommitTimestamp }) => [
      startTimestamp,
      isPrimary ? ": primary" : `: primary is ${primaryName(primary.row, primary.column, own)}`,
      ...(minCommitTimestamp > startTimestamp + 1 ? [", not before ", minCommitTimestamp] : []),
    ]),
    status: inspected.statuses.map(({ startTimestamp, status }) => [
      startTimestamp,
      ...(status.outcome === "committed" ? [": COMMIT ", status.commit] : [": ROLLBACK"]),
    ]),
  };
}

function primaryName(row: Uint8Array, column: Uint8Array, own: Uint8Array): string {
  if (parseRecordColumn(column) !== undefined) return "the ack";
  const name = Buffer.from(row).toString();
  return Buffer.from(column).equals(own) ? name : `${name}, ${Buffer.from(column).toString()}`;
}

/** Formats a value as a program reads it. */
function formatted(table: AnyTable, column: string, bytes: Uint8Array): string {
  const codec = table[definition].columns.get(column)?.codec;
  if (codec === undefined) throw new Error(`There is no column ${column} of values.`);
  return JSON.stringify(codec.decode(Buffer.from(bytes)));
}
