import { byteString, compareBytes, equalBytes } from "../../../bytes.js";
import type { FillAnswer, FillBatch } from "../../../fill.js";
import {
  type AtomicBatch,
  type BatchAnswer,
  commitTimestamp,
  type Guard,
  nextTimestamp,
  type RangeGuard,
  type RowMutation,
  rowAt,
} from "../../../mutation.js";
import { tablePrefix } from "../../record/key.js";
import type { Drafting } from "../draft/drafting.js";
import type { Request } from "../draft/request.js";
import { CellEdit } from "./cell.js";
import { planFill } from "./fill-planner.js";
import { GuardCache } from "./guard-cache.js";
import { hasOnlyOverwrites, overwrites, planned, planOverwrites, unusual } from "./overwrite.js";
import { rangeHolds } from "./range-guard.js";

/**
 * A plan with at least this many cells finds them in a map. For fewer cells, comparing with each
 * cell is faster than a map.
 */
const fewCells = 16;

const none: readonly never[] = Object.freeze([]);

/**
 * The cells that one request reads and changes. All guards and mutations of a column share one read
 * and one put, in whatever order the request has them. Overwrites need no {@link CellEdit}: see
 * `overwrite.ts`.
 */
export class Plan {
  readonly #drafting: Drafting;
  readonly #memo: GuardCache;
  #cells: readonly CellEdit[] = none;
  #index: Map<string, CellEdit> | undefined;

  constructor(drafting: Drafting, memo: GuardCache) {
    this.#drafting = drafting;
    this.#memo = memo;
  }

  /**
   * Checks `batch`, and plans its changes if all guards hold. The answer names the first guard that
   * does not hold. `quick`: whether to plan overwrites without a {@link CellEdit}.
   */
  commit(batch: AtomicBatch, commit: number, quick = hasOnlyOverwrites(batch)): BatchAnswer {
    const { rows } = batch;
    for (let row = 0; row < rows.length; row++) {
      const mutation = rows[row]!;
      const guard =
        quick && overwrites(mutation)
          ? planOverwrites(this.#drafting, mutation, commit)
          : this.failedGuard(mutation, commit);
      if (guard === planned) continue;
      this.#drafting.refuse();
      return guard === unusual ? this.commit(batch, commit, false) : { answer: "rejected", row, guard };
    }
    const range = this.#failedRange(batch);
    if (range >= 0) {
      this.#drafting.refuse();
      return { answer: "rejected", range };
    }
    for (let row = 0; row < rows.length; row++) {
      if (!quick || !overwrites(rows[row]!)) this.change(rows[row]!, commit);
    }
    this.write();
    return { answer: "applied", timestamp: commit };
  }

  /** The index of the first guard of `mutation` that does not hold. -1 if all hold. */
  failedGuard(mutation: RowMutation, commit: number): number {
    const { guards, table, row } = mutation;
    const system = GuardCache.covers(table);
    for (let i = 0; i < guards.length; i++) {
      const guard = guards[i]!;
      const repeats = system && !(guard.type === "present" && guard.at === commitTimestamp);
      let held = repeats ? this.#memo.get(table, row, guard) : undefined;
      if (held === undefined) {
        held = this.#holds(mutation, guard, commit);
        if (repeats) this.#memo.set(table, row, guard, held);
      }
      if (!held) return i;
    }
    return -1;
  }

  /** Plans to put the cells of `batch` if its guards hold and their range is empty. */
  fill({ guarded, cells }: FillBatch): FillAnswer {
    if (this.failedGuard({ ...guarded, mutations: none }, 0) >= 0) return "rejected";
    return planFill(this.#drafting, cells) ? "applied" : "occupied";
  }

  /** Applies the mutations to the cells in this plan. */
  change(changed: RowMutation, commit: number): void {
    const { table, mutations } = changed;
    if (mutations.length === 0) return;
    const row = rowAt(changed, commit);
    if (GuardCache.covers(table)) this.#memo.forget(table, row);
    for (let i = 0; i < mutations.length; i++) {
      const mutation = mutations[i]!;
      const cell = this.#cell(table, row, mutation.column);
      if (mutation.type === "put") {
        const timestamp = mutation.timestamp === commitTimestamp ? commit : mutation.timestamp;
        cell.put(mutation.part, timestamp, mutation.value);
      } else {
        cell.delete(mutation.part, mutation.from, mutation.to);
      }
    }
  }

  /** Plans the changes of all changed cells. */
  write(): void {
    const cells = this.#cells;
    for (let i = 0; i < cells.length; i++) cells[i]!.write();
  }

  /** The index of the first range guard that does not hold. -1 if all hold. */
  #failedRange({ ranges }: AtomicBatch): number {
    if (ranges === undefined || ranges.length === 0) return -1;
    return ranges.findIndex((each: RangeGuard) => !rangeHolds(this.#drafting.databases, each));
  }

  #holds({ table, row }: RowMutation, guard: Guard, commit: number): boolean {
    const cell = this.#cell(table, row, guard.column);
    if (guard.type === "absent") return !cell.has(guard.part, guard.from, guard.to);
    const at = guard.at === commitTimestamp ? commit : guard.at;
    const value = cell.get(guard.part, at);
    if (value === undefined) return false;
    if (guard.equals !== undefined && !equalBytes(value, guard.equals)) return false;
    return guard.below === undefined || compareBytes(value, guard.below) < 0;
  }

  #cell(table: string, row: Uint8Array, column: Uint8Array): CellEdit {
    const prefix = tablePrefix(table);
    const cells = this.#cells;
    // Mutations and guards of a cell usually share its arrays.
    for (let i = cells.length - 1; i >= 0 && i >= cells.length - fewCells; i--) {
      const cell = cells[i]!;
      if (cell.row === row && cell.column === column && cell.prefix === prefix) return cell;
    }
    if (cells.length >= fewCells) return this.#indexedCell(prefix, row, column);
    for (let i = cells.length - 1; i >= 0; i--) {
      const cell = cells[i]!;
      if (equalBytes(cell.row, row) && equalBytes(cell.column, column) && equalBytes(cell.prefix, prefix))
        return cell;
    }
    return this.#add(new CellEdit(this.#drafting.databases, prefix, row, column));
  }

  /**
   * Adds a cell. It creates the array with the first cell, because most requests change one cell,
   * and a literal array takes less memory than one that grows.
   */
  #add(cell: CellEdit): CellEdit {
    if (this.#cells === none) this.#cells = [cell];
    else (this.#cells as CellEdit[]).push(cell);
    return cell;
  }

  #indexedCell(prefix: Uint8Array, row: Uint8Array, column: Uint8Array): CellEdit {
    this.#index ??= new Map(this.#cells.map((cell) => [identity(cell.prefix, cell.row, cell.column), cell]));
    const id = identity(prefix, row, column);
    let cell = this.#index.get(id);
    if (cell === undefined) {
      cell = this.#add(new CellEdit(this.#drafting.databases, prefix, row, column));
      this.#index.set(id, cell);
    }
    return cell;
  }
}

/** The lengths make the string unique. */
function identity(prefix: Uint8Array, row: Uint8Array, column: Uint8Array): string {
  return `${prefix.length} ${row.length} ${byteString(prefix)}${byteString(row)}${byteString(column)}`;
}

/**
 * Checks one request, plans its writes, and records its answer. Returns the counter after the
 * request. `nowMs` is the system's clock.
 */
export function planRequest(plan: Plan, request: Request, counter: number, nowMs: number): number {
  const { task } = request;
  if (task.type === "mutate") {
    const failed = plan.failedGuard(task.mutation, 0) >= 0;
    request.answer = failed ? "rejected" : "applied";
    if (failed) return counter;
    plan.change(task.mutation, 0);
    plan.write();
    return counter;
  }
  if (task.type === "fill") {
    request.answer = plan.fill(task.batch);
    return counter;
  }
  const timestamp = nextTimestamp(counter, nowMs);
  if (task.type === "next") {
    request.answer = timestamp;
    return timestamp;
  }
  const answer = plan.commit(task.batch, timestamp);
  request.answer = answer;
  return answer.answer === "applied" ? timestamp : counter;
}
