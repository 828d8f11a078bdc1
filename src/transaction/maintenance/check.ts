import { throwIfAborted } from "../../environment/index.js";
import { isSystemPath, parsePath } from "../../schema/index.js";
import { type PartVersion, parts } from "../../store/index.js";
import { type CellAddress, isSameCell, showCell } from "../cell/address.js";
import { newestValue, readCells } from "../cell/raw.js";
import { ofPart, walkCells } from "../cell/raw-walk.js";
import { decodeLock, decodeStatus, decodeWrite } from "../cell/records.js";
import { isSystemTable } from "../cell/system.js";
import type { ColumnObserver, ObservedColumns, TransactionContext } from "../context.js";
import { readPrimary } from "../lock/primary.js";

/** A broken invariant, as `db.check` found it in the store. */
export interface Problem {
  /** The name of the broken invariant (protocol §8.3). */
  readonly invariant:
    | "one-lock"
    | "lock-or-write"
    | "disjoint-intervals"
    | "start-before-commit"
    | "one-commit-timestamp"
    | "committed-or-rolled-back"
    | "rolled-back-wrote-nothing"
    | "data-exists"
    | "hint-stands"
    | "readable"
    | "ascending"
    | "scan-and-get"
    | "expires"
    | "stored";
  /** The cell as readable text, or the store's description if no cell is affected. */
  readonly where: string;
  /** What is wrong, for an operator. */
  readonly message: string;
}

/**
 * Options of `db.check`. Each has a default.
 * @example
 * const problems = await db.check({ maxProblems: 10 });
 */
export interface CheckOptions {
  /** Ends the check when aborted. Default: none. */
  readonly signal?: AbortSignal | undefined;
  /** Called repeatedly with the number of cells checked so far. Default: none. */
  readonly onProgress?: ((cells: number) => void) | undefined;
  /** The check stops after this many problems. Default: 1,000. */
  readonly maxProblems?: number | undefined;
}

/**
 * Maximum number of two-phase transactions whose outcome the check remembers, to compare it between
 * cells. It bounds the check's memory.
 */
const maxRemembered = 1_000_000;

/**
 * Checks the invariants that a store shows at rest (protocol §8.3). The store may be in use: the
 * check reads a suspicious cell again before it reports it. Returns an empty array if the store is
 * sound.
 */
export async function check(
  context: TransactionContext,
  tables: readonly string[],
  options: CheckOptions = {},
): Promise<readonly Problem[]> {
  const damage = await storedProblems(context, options);
  // Stops here if a page is damaged. Reading it further could crash the storage engine, and every
  // other result would depend on damaged bytes.
  if (damage.length > 0) return damage;
  const checker = new Checker(context, await context.notifications.fresh(), options);
  for (const table of tables) await checker.checkTable(table);
  return checker.problems;
}

/** Problems that the store finds in its own bytes. */
async function storedProblems(
  context: TransactionContext,
  options: CheckOptions,
): Promise<readonly Problem[]> {
  const { store } = context;
  const { signal, onProgress, maxProblems = 1_000 } = options;
  const found = (await store.verify?.({ signal, onProgress })) ?? [];
  return found.slice(0, maxProblems).map(
    ({ message, cell }): Problem => ({
      invariant: "stored",
      where: cell === undefined ? store.description : showCell(cell, context.schemas),
      message,
    }),
  );
}

/**
 * Walks the tables for {@link check} and collects problems. It keeps transaction outcomes across
 * cells and tables, because an invariant may span them.
 */
class Checker {
  readonly problems: Problem[] = [];
  readonly #context: TransactionContext;
  #view: ObservedColumns;
  readonly #options: CheckOptions;
  /** Commit timestamps by start timestamp, from all cells seen so far. */
  readonly #commits = new Map<number, number>();
  readonly #rolledBack = new Set<number>();
  /**
   * A status "rolled back" below the safepoint proves nothing. Collection may have dropped the
   * transaction's real status. A process that decides the transaction after that writes "rolled
   * back", even if the transaction committed.
   */
  #safepoint = 0;
  #cells = 0;

  constructor(context: TransactionContext, view: ObservedColumns, options: CheckOptions) {
    this.#context = context;
    this.#view = view;
    this.#options = options;
  }

  async checkTable(table: string): Promise<void> {
    const { store, environment } = this.#context;
    const { signal, onProgress, maxProblems = 1_000 } = this.#options;
    this.#safepoint = await this.#context.safepoint.current();
    let before: CellAddress | undefined;
    for await (const cells of walkCells(store, environment, table, { parts, signal })) {
      for (const cell of cells) {
        throwIfAborted(signal, "The check");
        if (before !== undefined && !isAscending(before, cell)) {
          const message = `a scan shows it after ${showCell(before, this.#context.schemas)}, though it sorts before it`;
          this.problems.push({
            invariant: "ascending",
            where: showCell(cell, this.#context.schemas),
            message,
          });
        }
        before = cell;
        await this.#checkCell(cell, cell.versions);
        if (this.problems.length >= maxProblems) return;
      }
      this.#cells += cells.length;
      await onProgress?.(this.#cells);
    }
  }

  async #checkCell(cell: CellAddress, versions: readonly PartVersion[]): Promise<void> {
    if ((await this.#problemsOf(cell, versions)).length === 0) return;
    // A transaction may have changed the cell during the check. Only problems that a second read
    // still shows are reported.
    this.#safepoint = await this.#context.safepoint.current();
    // An observer may have been unregistered since, and its hints are gone. On a server, this
    // process's copy may still have it.
    this.#view = await this.#context.notifications.reload();
    const again = await readCells(this.#context.store, cell, parts, 0, Number.POSITIVE_INFINITY);
    this.problems.push(...(await this.#problemsOf(cell, again)));
  }

  async #problemsOf(cell: CellAddress, versions: readonly PartVersion[]): Promise<readonly Problem[]> {
    const where = showCell(cell, this.#context.schemas);
    try {
      // Throws if the column's bytes are not a path. The library's own tables have other columns too.
      if (!isSystemTable(cell.table)) parsePath(cell.column);
      return [
        ...(await this.#getProblems(cell, where, versions)),
        ...lockProblems(where, versions),
        ...intervalProblems(where, versions),
        ...this.#statusProblems(where, versions),
        ...dataProblems(where, versions),
        ...(await this.#lockedProblems(cell, where, versions)),
        ...(await this.#hintProblems(cell, where, versions)),
      ];
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      return [{ invariant: "readable", where, message: `cannot be read: ${message}` }];
    }
  }

  /**
   * Checks that a scan and a get find the same newest write record. Runs only on stores that answer
   * at once. On a remote store it would cost a request per cell, and the remote service checks its
   * own bytes.
   */
  async #getProblems(
    cell: CellAddress,
    where: string,
    versions: readonly PartVersion[],
  ): Promise<readonly Problem[]> {
    const { store } = this.#context;
    const scanned = ofPart(versions, "write")[0]?.timestamp;
    if (store.zeroCopy === undefined || scanned === undefined) return [];
    const { table, row, column } = cell;
    const page = await store.readRow({ table, row, columns: [{ exact: column }], at: scanned });
    const got = page.cells[0]?.write?.timestamp;
    if (got === scanned) return [];
    const message = `a scan finds a write record at ${scanned}, but a get finds ${got === undefined ? "none" : `the one at ${got}`}`;
    return [{ invariant: "scan-and-get", where, message }];
  }

  /**
   * Checks, over all cells seen so far, that each transaction has one commit timestamp and is not
   * both committed and rolled back.
   */
  #statusProblems(where: string, versions: readonly PartVersion[]): readonly Problem[] {
    const problems: Problem[] = [];
    const committed = (start: number, commit: number) => {
      const known = this.#commits.get(start);
      if (known !== undefined && known !== commit) {
        const message = `the transaction at ${start} committed at ${commit} here and at ${known} elsewhere`;
        problems.push({ invariant: "one-commit-timestamp", where, message });
      }
      if (start >= this.#safepoint && this.#rolledBack.has(start)) {
        const message = `the transaction at ${start} was rolled back, but wrote here at ${commit}`;
        problems.push({ invariant: "rolled-back-wrote-nothing", where, message });
      }
      if (this.#commits.size < maxRemembered) this.#commits.set(start, commit);
    };
    for (const { timestamp, value } of ofPart(versions, "txn")) {
      const status = decodeStatus(value);
      if (status.outcome === "committed") {
        committed(timestamp, status.commit);
        continue;
      }
      if (timestamp >= this.#safepoint && this.#commits.has(timestamp)) {
        const message = `the transaction at ${timestamp} was rolled back here, but committed elsewhere`;
        problems.push({ invariant: "committed-or-rolled-back", where, message });
      }
      if (this.#rolledBack.size < maxRemembered) this.#rolledBack.add(timestamp);
    }
    for (const { timestamp, value } of ofPart(versions, "write")) {
      const record = decodeWrite(value);
      if (!record.onePhase) committed(record.start, timestamp);
    }
    return problems;
  }

  /**
   * Checks that no transaction committed below its lock's min_commit_ts. A lock that outlived its
   * transaction is no problem: the next transaction that meets it resolves it.
   */
  async #lockedProblems(
    cell: CellAddress,
    where: string,
    versions: readonly PartVersion[],
  ): Promise<readonly Problem[]> {
    const problems: Problem[] = [];
    for (const version of ofPart(versions, "lock")) {
      const lock = decodeLock(version.value);
      const primary = await readPrimary(this.#context.store, lock.primary, version.timestamp);
      if (primary.state !== "decided" || primary.status.outcome !== "committed") continue;
      if (primary.status.commit < lock.minCommit && isSameCell(lock.primary, cell)) {
        const message = `the transaction at ${version.timestamp} committed at ${primary.status.commit}, below its min_commit_ts`;
        problems.push({ invariant: "start-before-commit", where, message });
      }
    }
    return problems;
  }

  async #hintProblems(
    cell: CellAddress,
    where: string,
    versions: readonly PartVersion[],
  ): Promise<readonly Problem[]> {
    if (isSystemPath(cell.column) || !this.#view.observed(cell.table, cell.column)) return [];
    const newest = ofPart(versions, "write")[0];
    if (newest === undefined) return [];
    const problems: Problem[] = [];
    for (const observer of this.#view.observersOf(cell.table, cell.column)) {
      if (newest.timestamp <= observer.since) continue;
      if (await this.#isHandled(cell, observer, newest.timestamp)) continue;
      const hint = this.#view.hints(cell).find((found) => found.observer === observer.name);
      if (hint !== undefined && (await this.#hintStands(hint.address, newest.timestamp))) continue;
      // The observer may have committed its run between the two reads.
      if (await this.#isHandled(cell, observer, newest.timestamp)) continue;
      const message = `the change at ${newest.timestamp} is due for the observer "${observer.name}", but has no hint`;
      problems.push({ invariant: "hint-stands", where, message });
    }
    return problems;
  }

  async #isHandled(cell: CellAddress, observer: ColumnObserver, commit: number): Promise<boolean> {
    for (const column of [observer.acknowledgment, observer.parked]) {
      const address = { table: cell.table, row: cell.row, column };
      const newest = await newestValue(this.#context.store, address);
      if (newest !== undefined && observer.acknowledged(newest.value) >= commit) return true;
    }
    return false;
  }

  async #hintStands(address: CellAddress, commit: number): Promise<boolean> {
    const versions = await readCells(
      this.#context.store,
      address,
      ["write"],
      commit,
      Number.POSITIVE_INFINITY,
    );
    return versions.length > 0;
  }
}

function isAscending(before: CellAddress, cell: CellAddress): boolean {
  const rows = Buffer.compare(before.row, cell.row);
  return rows < 0 || (rows === 0 && Buffer.compare(before.column, cell.column) < 0);
}

function lockProblems(where: string, versions: readonly PartVersion[]): readonly Problem[] {
  const problems: Problem[] = [];
  const locks = ofPart(versions, "lock");
  if (locks.length > 1) {
    const starts = locks.map((lock) => lock.timestamp).join(", ");
    problems.push({
      invariant: "one-lock",
      where,
      message: `holds the locks of several transactions: ${starts}`,
    });
  }
  for (const { timestamp, value } of ofPart(versions, "write")) {
    const record = decodeWrite(value);
    if (record.onePhase || !locks.some((lock) => lock.timestamp === record.start)) continue;
    const message = `holds a lock of the transaction at ${record.start} and its write at ${timestamp}`;
    problems.push({ invariant: "lock-or-write", where, message });
  }
  return problems;
}

/** Checks that writers of a cell do not overlap: each started at or after the commit before it. */
function intervalProblems(where: string, versions: readonly PartVersion[]): readonly Problem[] {
  const problems: Problem[] = [];
  const writes = ofPart(versions, "write");
  for (const [index, { timestamp, value }] of writes.entries()) {
    const { start } = decodeWrite(value);
    if (start >= timestamp) {
      const message = `a transaction that started at ${start} committed at ${timestamp}`;
      problems.push({ invariant: "start-before-commit", where, message });
    }
    const before = writes[index + 1];
    if (before !== undefined && start < before.timestamp) {
      const message = `the transaction from ${start} to ${timestamp} overlaps the commit at ${before.timestamp}`;
      problems.push({ invariant: "disjoint-intervals", where, message });
    }
  }
  return problems;
}

function dataProblems(where: string, versions: readonly PartVersion[]): readonly Problem[] {
  const data = new Set(ofPart(versions, "data").map((version) => version.timestamp));
  return ofPart(versions, "write").flatMap(({ timestamp, value }): Problem[] => {
    const { kind, start, value: inline } = decodeWrite(value);
    if (kind === "delete" || inline !== undefined || data.has(start)) return [];
    const message = `the write at ${timestamp} names a value written at ${start} that is missing`;
    return [{ invariant: "data-exists", where, message }];
  });
}
