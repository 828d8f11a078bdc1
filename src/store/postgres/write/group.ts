import {
  type BatchAnswer,
  commitTimestamp,
  type Guard,
  type Mutation,
  type PutMutation,
} from "../../mutation.js";
import { ArrayBuilder } from "../wire/array-builder.js";
import { CellNames } from "./cell-names.js";
import { type CellChange, netMutations } from "./net-mutations.js";
import type { Request, Task } from "./request.js";
import { type UnchangedCell, Wave } from "./wave.js";
import { Waves } from "./waves.js";

/** The most transactions of a group, and the most bytes of its keys and values. */
const maxRequests = 512;
const maxBytes = 8 << 20;
/** The most waves of a group. Each takes a few statements of the server. */
const maxWaves = 128;
/** What a guard or a mutation counts for besides its bytes. */
const overheadBytes = 64;

/** The numbers of the tables that the requests name. All are known when a group is made. */
interface Tables {
  known(table: string): number | undefined;
}

/** What became of a group on the server. */
export interface GroupResult {
  readonly firstTimestamp: number;
  /** Transactions with a guard that did not hold, and which guard. A transaction may be there twice. */
  readonly failed: readonly { readonly request: number; readonly at: number }[];
}

const names = new CellNames();

/**
 * Transactions that the server commits in one call. The transaction at index `i` gets the group's
 * first timestamp plus `i`.
 */
export class Group {
  readonly requests: Request[] = [];
  readonly #tables: Tables;
  readonly #waves: Wave[] = [];
  readonly #order = new Waves();
  readonly #counting = new ArrayBuilder("int4");
  #bytes = 0;
  #changes = 0;
  #hasLocks = false;

  constructor(tables: Tables) {
    this.#tables = tables;
  }

  /** Whether the group sets or removes locks. */
  get hasLocks(): boolean {
    return this.#hasLocks;
  }

  /** Mutations of all requests. */
  get changes(): number {
    return this.#changes;
  }

  /** Adds a request, unless the group is full. */
  add(request: Request): boolean {
    if (this.requests.length >= maxRequests || this.#bytes >= maxBytes) return false;
    const { rows, ranges, counts } = request.task;
    const guarded: string[] = [];
    const written: string[] = [];
    const changes: CellChange[] = [];
    for (const { table: name, row, guards, mutations, stamped } of rows) {
      const table = this.#number(name);
      const rowName = names.row(table, row);
      for (const { column } of guards) {
        const cell = names.cell(rowName, column);
        // Guards of one cell stand together.
        if (guarded.at(-1) !== cell) guarded.push(cell);
      }
      for (const mutation of mutations) {
        const cell = names.cell(rowName, mutation.column);
        // No other request has the same stamped row.
        if (stamped !== true) written.push(cell);
        changes.push({ table, row, cell, mutation: stamped === true ? inStampedRow(mutation) : mutation });
      }
    }
    const guardedTables = ranges.map(({ table }) => this.#number(table));
    const writtenTables = changes.map(({ table }) => table);
    const footprint = { guarded, written, guardedTables, writtenTables };
    const number = this.#order.of(footprint);
    if (number >= maxWaves) return false;
    this.#order.add(footprint, number);
    while (this.#waves.length <= number) this.#waves.push(new Wave());
    const index = this.requests.push(request) - 1;
    if (counts) this.#counting.int4(index);
    this.#changes += changes.length;
    const wave = this.#waves[number]!;
    this.#addChanges(wave, changes, index, this.#addGuards(wave, request.task, index));
    return true;
  }

  /** The parameters of `commit_group` after the writer and the group's number. */
  parameters(): unknown[] {
    return [...Wave.parameters(this.#waves), ArrayBuilder.join([this.#counting])];
  }

  /** The answer to each request. */
  answers({ firstTimestamp, failed }: GroupResult): BatchAnswer[] {
    const answers: BatchAnswer[] = this.requests.map((_, index) => ({
      answer: "applied",
      timestamp: firstTimestamp + index,
    }));
    const first = new Map<number, number>();
    for (const { request, at } of failed) {
      const known = first.get(request);
      if (known === undefined || isEarlier(at, known)) first.set(request, at);
    }
    for (const [request, at] of first) answers[request] = rejection(this.requests[request]!.task, at);
    return answers;
  }

  /** Returns the cells of written rows that must be unchanged, by their names. They are not in the wave yet. */
  #addGuards(wave: Wave, { rows, ranges }: Task, request: number): Map<string, UnchangedCell> {
    const unchanged = new Map<string, UnchangedCell>();
    let position = 0;
    for (const { table: name, row, guards, mutations } of rows) {
      const table = this.#number(name);
      const rowName = names.row(table, row);
      const isWritten = mutations.length > 0;
      for (let index = 0; index < guards.length; index++, position++) {
        const guard = guards[index]!;
        const cell = names.cell(rowName, guard.column);
        this.#bytes += overheadBytes + row.length + guard.column.length;
        const since =
          isWritten && !unchanged.has(cell) ? unchangedSince(guard, guards[index + 1]) : undefined;
        if (since === undefined) {
          // Many transactions share the guards on rows that they do not change.
          wave.guard(request, position, table, row, guard, isWritten ? undefined : cell);
          continue;
        }
        unchanged.set(cell, { position, table, row, column: guard.column, since });
        index++;
        position++;
      }
    }
    for (const [index, range] of ranges.entries()) {
      wave.range(request, -1 - index, this.#number(range.table), range);
      this.#bytes += overheadBytes * range.columns.length;
    }
    return unchanged;
  }

  #addChanges(
    wave: Wave,
    changes: readonly CellChange[],
    request: number,
    unchanged: Map<string, UnchangedCell>,
  ): void {
    const { deletes, puts } = netMutations(changes);
    for (const { table, row, mutation } of deletes) wave.delete(request, table, row, mutation);
    for (const { table, row, cell, mutation } of puts) {
      const guarded = isCommitted(mutation) ? unchanged.get(cell) : undefined;
      if (guarded === undefined) wave.put(request, table, row, mutation);
      else wave.unchanged(request, guarded, mutation.value);
      if (guarded !== undefined) unchanged.delete(cell);
    }
    for (const cell of unchanged.values()) wave.unchanged(request, cell);
    for (const { row, mutation } of changes) {
      this.#hasLocks ||= mutation.part === "lock";
      const value = mutation.type === "put" ? mutation.value.length : 0;
      this.#bytes += overheadBytes + row.length + mutation.column.length + value;
    }
  }

  #number(table: string): number {
    return this.#tables.known(table)!;
  }
}

/** The server stamps the row of a put at this timestamp, and puts it at the commit timestamp. */
const stampedTimestamp = -2;

function inStampedRow(mutation: Mutation): Mutation {
  return mutation.type === "put" ? { ...mutation, timestamp: stampedTimestamp } : mutation;
}

/**
 * The timestamp from which the two guards let a cell have no write record, if they are those of almost
 * every cell that a transaction writes: no lock at all is the first. Undefined for other guards.
 */
function unchangedSince(first: Guard, second: Guard | undefined): number | undefined {
  const isPair =
    first.type === "absent" &&
    first.part === "lock" &&
    first.from === 0 &&
    first.to === Number.POSITIVE_INFINITY &&
    second?.type === "absent" &&
    second.part === "write" &&
    second.to === Number.POSITIVE_INFINITY &&
    second.column === first.column;
  return isPair ? second.from : undefined;
}

/** Whether a put writes a write record at the commit timestamp. */
function isCommitted({ part, timestamp }: PutMutation): boolean {
  return part === "write" && timestamp === commitTimestamp;
}

/** Guards of rows come before range guards, whose positions are negative. */
function isEarlier(at: number, than: number): boolean {
  if (at < 0) return than < 0 && at > than;
  return than < 0 || at < than;
}

function rejection({ rows }: Task, at: number): BatchAnswer {
  if (at < 0) return { answer: "rejected", range: -1 - at };
  let guard = at;
  let row = 0;
  while (guard >= rows[row]!.guards.length) guard -= rows[row++]!.guards.length;
  return { answer: "rejected", row, guard };
}
