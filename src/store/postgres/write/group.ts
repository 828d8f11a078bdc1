import type { BatchAnswer, Mutation } from "../../mutation.js";
import { ArrayBuilder } from "../wire/array-builder.js";
import { CellNames } from "./cell-names.js";
import { type CellChange, netMutations } from "./net-mutations.js";
import type { Request, Task } from "./request.js";
import { Wave } from "./wave.js";
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
  #hasLocks = false;

  constructor(tables: Tables) {
    this.#tables = tables;
  }

  /** Whether the group sets or removes locks. */
  get hasLocks(): boolean {
    return this.#hasLocks;
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
    const wave = this.#waves[number]!;
    this.#addGuards(wave, request.task, index);
    this.#addChanges(wave, changes, index);
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

  #addGuards(wave: Wave, { rows, ranges }: Task, request: number): void {
    let position = 0;
    for (const { table: name, row, guards, mutations } of rows) {
      const table = this.#number(name);
      // Many transactions share the guards on rows that they do not change.
      const shared = mutations.length === 0 ? names.row(table, row) : undefined;
      for (const guard of guards) {
        const cell = shared === undefined ? undefined : names.cell(shared, guard.column);
        wave.guard(request, position++, table, row, guard, cell);
        this.#bytes += overheadBytes + row.length + guard.column.length;
      }
    }
    for (const [index, range] of ranges.entries()) {
      wave.range(request, -1 - index, this.#number(range.table), range);
      this.#bytes += overheadBytes * range.columns.length;
    }
  }

  #addChanges(wave: Wave, changes: readonly CellChange[], request: number): void {
    const only = changes.length === 1 ? changes[0]! : undefined;
    if (only?.mutation.type === "put") {
      wave.put(request, only.table, only.row, only.mutation);
    } else if (changes.length > 0) {
      const { deletes, puts } = netMutations(changes);
      for (const { table, row, mutation } of deletes) wave.delete(request, table, row, mutation);
      for (const { table, row, mutation } of puts) wave.put(request, table, row, mutation);
    }
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
