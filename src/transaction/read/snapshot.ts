import { ClosedError } from "../../errors/index.js";
import { type Columns, type Position, pages } from "../../store/index.js";
import type { CommittedRow } from "../cell/committed.js";
import { userColumns } from "../cell/user-columns.js";
import type { TransactionContext } from "../context.js";
import { SnapshotReader } from "./reader.js";
import { View } from "./view.js";

/** Rows per page of an export. */
const rowsAtOnce = 250;

/** What {@link Snapshot.cells} reads. @internal */
interface CellsOptions {
  readonly limit?: number | undefined;
  readonly columns?: Columns | undefined;
}

/** Settings of a {@link Snapshot}. Aborting `signal` fails its reads. */
export interface SnapshotSettings {
  readonly signal?: AbortSignal | undefined;
}

/**
 * A read-only view of the database as of one timestamp, from `db.snapshot()`. Close it after use.
 * Until then, garbage collection keeps the versions that it sees, but at most for the retention.
 * After that its reads may fail with a StaleSnapshotError.
 * @example
 * const snapshot = await db.snapshot();
 * const balance = await snapshot.get(accounts.balance, "alice");
 * await snapshot.close();
 */
export class Snapshot extends View {
  /**
   * The snapshot shows every commit at or below this timestamp. Roughly microseconds since 1970.
   */
  readonly timestamp: number;
  readonly #reader: SnapshotReader;
  readonly #unregister: () => void;
  #closed = false;

  /** @internal */
  constructor(context: TransactionContext, timestamp: number, settings: SnapshotSettings = {}) {
    const reader = new SnapshotReader(context, timestamp, settings);
    super(context, reader, undefined, undefined);
    this.#reader = reader;
    this.timestamp = timestamp;
    this.#unregister = context.active.register(timestamp);
  }

  protected override assertReadable(): void {
    if (!this.#closed) return;
    throw new ClosedError(
      `The snapshot at ${this.timestamp} was closed. Take a new one with \`db.snapshot()\`.`,
    );
  }

  /** Reads the note that a transaction stored under a name. @internal */
  async note(name: string): Promise<Uint8Array | undefined> {
    this.assertReadable();
    return await this.#reader.note(name);
  }

  /**
   * Every user cell of a table in row and column order, as the store's bytes, for exports. A wide
   * row may span several pages, so that memory stays bounded. The bytes of a page are valid only
   * until the next page is asked for. `limit`: the maximum number of rows per page. `columns`: may also
   * select the acknowledgments, which come after a row's user cells.
   * @internal
   */
  async *cells(
    table: string,
    from?: Position,
    { limit = rowsAtOnce, columns = userColumns }: CellsOptions = {},
  ): AsyncGenerator<readonly CommittedRow[]> {
    const read = (start?: Position) => {
      this.assertReadable();
      return this.#reader.range({ table, start, columns, limit });
    };
    for await (const page of pages(read, from)) yield page.rows;
  }

  /** Ends the snapshot, so that collection may drop its versions. Safe to repeat. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#unregister();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
