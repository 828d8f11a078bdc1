import type { Registry } from "../observer/index.js";
import { currentTimestamp } from "../oracle/index.js";
import { type ColumnDefinition, definition, parsePath } from "../schema/index.js";
import { CoreTransaction, SnapshotReader, timestampToDate } from "../transaction/index.js";
import { decodeExpiry, type ExpiryRecord, encodeExpiry, expiryCell } from "./expiry-record.js";
import { columnRanges, type PassedCell, type PassProgress, runPass } from "./pass.js";

/** The options of {@link expire}. */
export interface ExpireOptions {
  /**
   * Sweeps only tables that are due, and that no other process sweeps. Otherwise sweeps all tables
   * with a time.
   */
  readonly isDueOnly: boolean;
  /** Stops between two pages when it is aborted. The next sweep continues from there. */
  readonly signal?: AbortSignal | undefined;
  /** Called after each page with the progress. */
  readonly onProgress?: ((progress: PassProgress) => void) | undefined;
}

/** How the expiry of a table stands. */
export interface TableExpiry {
  readonly table: string;
  /** Milliseconds from the commit of a cell until it expires, by column. */
  readonly ttlMs: Readonly<Record<string, number>>;
  /** When the last complete sweep began. Undefined before the first. */
  readonly sweptAt: Date | undefined;
  /** When the next sweep is due. Before the first with these times: when a declaration was last recorded. */
  readonly dueAt: Date;
  /** Cells that the last complete sweep deleted. */
  readonly expired: number;
}

/**
 * Least milliseconds between the beginnings of two sweeps of a table: a sweep of a table with a time of a few
 * seconds must not read the table all the time.
 */
const minSweepEveryMs = 1_000;
/** The part of the shortest time of a table that passes between two sweeps, if cells expire all the time. */
const sweepsPerTtl = 10;
/** Longer than a page takes on a slow store. After that, another process continues a killed one's sweep. */
const claimMs = 60_000;
const recordEveryMs = 1_000;
/** By how much the clocks of two machines may differ. A clock that is further ahead is wrong. */
const maxSkewMs = 60_000;

/**
 * Deletes the cells whose time has passed (protocol §7.5), in transactions as those of programs. A
 * transaction reads each cell again and deletes only those that are still as old, so a cell that is
 * written at the same time stays. Returns the number of deleted cells.
 *
 * @throws the first failure, after all tables.
 */
export async function expire(registry: Registry, options: ExpireOptions): Promise<number> {
  const { tables } = await registry.fresh();
  let expired = 0;
  const failures: unknown[] = [];
  for (const name of tables.keys()) {
    const columns = await expiringColumns(registry, name);
    if (columns.length === 0) continue;
    try {
      expired += await new Sweep(registry, name, columns, options).run();
    } catch (error) {
      if (options.signal?.aborted) throw error;
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
  return expired;
}

/** Lists the tables whose cells expire. */
export async function expiries(registry: Registry): Promise<readonly TableExpiry[]> {
  const { tables, generation } = await registry.fresh();
  const found: TableExpiry[] = [];
  for (const table of [...tables.keys()].sort()) {
    const columns = await expiringColumns(registry, table);
    if (columns.length === 0) continue;
    const { row, column, table: system } = expiryCell(table);
    const reader = new SnapshotReader(registry.context, await currentTimestamp(registry.context));
    const { cells } = await reader.row(system, row, [{ exact: column }]);
    const value = cells[0]?.value;
    const known = value === undefined ? undefined : decodeExpiry(value);
    const isDated = known !== undefined && known.edition === editionOf(columns);
    found.push({
      table,
      ttlMs: timesOf(columns),
      sweptAt: known?.sweptAt == null ? undefined : new Date(known.sweptAt),
      dueAt: isDated ? new Date(known.dueAt) : timestampToDate(generation),
      expired: known?.expired ?? 0,
    });
  }
  return found;
}

type ExpiringColumn = ColumnDefinition & { readonly ttlMs: number };

async function expiringColumns(registry: Registry, name: string): Promise<readonly ExpiringColumn[]> {
  const view = await registry.current();
  if (!view.tables.get(name)?.columns.some(({ ttlMs }) => typeof ttlMs === "number")) return [];
  const columns = [...view.table(name)![definition].columns.values()];
  return columns.filter((column): column is ExpiringColumn => typeof column.ttlMs === "number");
}

function timesOf(columns: readonly ExpiringColumn[]): Readonly<Record<string, number>> {
  return Object.fromEntries(columns.map(({ name, ttlMs }) => [name, ttlMs]));
}

function editionOf(columns: readonly ExpiringColumn[]): string {
  return JSON.stringify(timesOf(columns));
}

/** One sweep of a table. */
class Sweep {
  readonly #registry: Registry;
  readonly #table: string;
  readonly #columns: readonly ExpiringColumn[];
  readonly #options: ExpireOptions;
  readonly #id: string;
  readonly #edition: string;
  readonly #ttlMs: ReadonlyMap<string, number>;
  /** Cells older than this, less their time, expire. In timestamps of the oracle. */
  #now = 0;
  #startedAt = 0;
  #claimedAt = 0;
  /** The time in milliseconds at which the first of the remaining cells will expire. */
  #nextExpiry = Number.POSITIVE_INFINITY;

  constructor(registry: Registry, table: string, columns: readonly ExpiringColumn[], options: ExpireOptions) {
    this.#registry = registry;
    this.#table = table;
    this.#columns = columns;
    this.#options = options;
    this.#id = registry.context.environment.uniqueId();
    this.#edition = editionOf(columns);
    this.#ttlMs = new Map(columns.map(({ name, ttlMs }) => [name, ttlMs]));
  }

  /** Returns the number of deleted cells: 0 if the table is not due. */
  async run(): Promise<number> {
    if (!(await this.#claim())) return 0;
    let isComplete = false;
    let expired = 0;
    try {
      let pass = await this.#pass();
      expired = pass.changed;
      if (pass.continued && !this.#options.isDueOnly) {
        // The first part of the table was swept at another time.
        pass = await this.#pass();
        expired += pass.changed;
      }
      isComplete = true;
      await this.#end(pass.continued, expired);
      return expired;
    } finally {
      if (!isComplete) await this.#release().catch(() => undefined);
    }
  }

  async #pass(): Promise<{ readonly changed: number; readonly continued: boolean }> {
    const { environment, events } = this.#registry.context;
    const beganAt = environment.monotonic();
    this.#nextExpiry = Number.POSITIVE_INFINITY;
    let before: PassProgress | undefined;
    let last: PassProgress | undefined;
    const { signal, onProgress } = this.#options;
    const result = await runPass(
      this.#registry,
      {
        kind: "expire",
        table: this.#table,
        columns: columnRanges(this.#columns),
        edition: this.#edition,
        looksOnly: false,
        recordEveryMs,
        doing: `Deleting expired cells of table ${this.#table}`,
        handle: (cells) => this.#handle(cells),
      },
      {
        signal,
        onProgress: (progress) => {
          before ??= progress;
          last = progress;
          return onProgress?.(progress);
        },
      },
    );
    // A continued pass also counts what earlier calls did.
    const changed = last!.changed - before!.changed;
    events.emit("expire", {
      table: this.#table,
      cellsSeen: last!.scanned - before!.scanned,
      cellsExpired: changed,
      durationMs: environment.monotonic() - beganAt,
    });
    return { changed, continued: result.continued };
  }

  async #handle(cells: readonly PassedCell[]): Promise<{ changed: number; failed: number }> {
    await this.#renew();
    const old = cells.filter((cell) => this.#isOld(cell));
    for (const cell of cells) {
      if (!this.#isOld(cell)) this.#nextExpiry = Math.min(this.#nextExpiry, this.#expiryOf(cell) / 1_000);
    }
    if (old.length === 0) return { changed: 0, failed: 0 };
    const { signal } = this.#options;
    const changed = await this.#registry.retrying(async () => {
      const tx = await CoreTransaction.begin(this.#registry.context, { label: "expiry", signal });
      try {
        const left = await Promise.all(old.map((cell) => this.#isStillOld(tx, cell)));
        const expired = old.filter((_, index) => left[index]);
        for (const { table, row, column } of expired) tx.write({ table, row, column, value: undefined });
        await tx.commit();
        return expired.length;
      } finally {
        tx.rollback();
      }
    }, signal);
    return { changed, failed: 0 };
  }

  async #isStillOld(tx: CoreTransaction, { table, row, column }: PassedCell): Promise<boolean> {
    const { cells } = await tx.reader.row(table, row, [{ exact: column }]);
    const [cell] = cells;
    return cell !== undefined && !cell.isDeleted && this.#isOld({ column, commit: cell.commit });
  }

  #isOld(cell: Pick<PassedCell, "column" | "commit">): boolean {
    return this.#expiryOf(cell) <= this.#now;
  }

  /** The timestamp at which the cell expires. */
  #expiryOf({ column, commit }: Pick<PassedCell, "column" | "commit">): number {
    return commit + this.#ttlMs.get(parsePath(column).name)! * 1_000;
  }

  /** Returns whether this process may sweep the table now. */
  async #claim(): Promise<boolean> {
    const { environment } = this.#registry.context;
    const { isDueOnly } = this.#options;
    const now = environment.now();
    const mayClaim = (before: ExpiryRecord | undefined) => {
      if (!isDueOnly || before === undefined) return true;
      const isClaimed =
        before.claim !== null && before.claimedUntil > now && before.claimedUntil <= now + claimMs;
      // A sweep by a process whose clock was ahead must not put off those of the others.
      const isTooLate = before.dueAt > now + this.#longestPauseMs + maxSkewMs;
      return !isClaimed && (before.dueAt <= now || isTooLate || before.edition !== this.#edition);
    };
    const claimedAt = await this.#change((before) => {
      if (!mayClaim(before)) return undefined;
      const none = { dueAt: now, sweptAt: null, expired: 0 };
      return {
        ...none,
        ...before,
        // The time of another declaration says nothing about this one.
        ...(before?.edition === this.#edition ? {} : { dueAt: now }),
        edition: this.#edition,
        claim: this.#id,
        claimedUntil: now + claimMs,
      };
    });
    if (claimedAt === undefined) return false;
    this.#startedAt = now;
    this.#claimedAt = environment.monotonic();
    // If this process's clock is wrong, the claim's own timestamp is right where the store or the
    // coordinator gives it. The earlier of the two expires nothing too early.
    this.#now = Math.min(now * 1_000, claimedAt);
    return true;
  }

  async #renew(): Promise<void> {
    const { environment } = this.#registry.context;
    if (environment.monotonic() - this.#claimedAt < claimMs / 3) return;
    this.#claimedAt = environment.monotonic();
    await this.#change((before) =>
      before?.claim === this.#id ? { ...before, claimedUntil: environment.now() + claimMs } : undefined,
    );
  }

  async #release(): Promise<void> {
    await this.#change((before) =>
      before?.claim === this.#id ? { ...before, claim: null, claimedUntil: 0 } : undefined,
    );
  }

  /** The most time from the beginning of a sweep until the next one is due. */
  get #longestPauseMs(): number {
    return Math.max(minSweepEveryMs, Math.min(...this.#ttlMs.values()));
  }

  /** Records the complete sweep and when the next one is due. */
  async #end(isContinued: boolean, expired: number): Promise<void> {
    const shortestMs = Math.min(...this.#ttlMs.values());
    const soonest = this.#startedAt + Math.max(shortestMs / sweepsPerTtl, minSweepEveryMs);
    // Cells written after the sweep began expire later than the shortest time after it. A continued
    // sweep does not know the cells that an earlier one has visited.
    const next = isContinued ? soonest : Math.min(this.#nextExpiry, this.#startedAt + shortestMs);
    await this.#change((before) =>
      before?.claim === this.#id
        ? {
            ...before,
            claim: null,
            claimedUntil: 0,
            dueAt: Math.max(soonest, next),
            sweptAt: this.#startedAt,
            expired,
          }
        : undefined,
    );
  }

  /**
   * Changes the record in one transaction. Returns its commit timestamp, or undefined if `change`
   * returned undefined.
   */
  async #change(
    change: (before: ExpiryRecord | undefined) => ExpiryRecord | undefined,
  ): Promise<number | undefined> {
    const cell = expiryCell(this.#table);
    return this.#registry.retrying(async () => {
      const tx = await this.#registry.systemTransaction(`expiry ${this.#table}`);
      try {
        const stored = await this.#registry.read(tx, cell);
        const after = change(stored === undefined ? undefined : decodeExpiry(stored));
        if (after === undefined) return undefined;
        tx.write({ ...cell, value: encodeExpiry(after) });
        await tx.commit();
        return tx.commitTimestamp;
      } finally {
        tx.rollback();
      }
    });
  }
}
