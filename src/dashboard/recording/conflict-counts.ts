import type { EventCell } from "../../events/index.js";
import type { ConflictReport } from "./report.js";
import { sumByKey } from "./sums.js";
import type { Winners } from "./winners.js";

const maxPairs = 200;
const maxUnknown = 200;

/** How often transactions of one name lost a cell to transactions of another name. */
export interface ConflictCount extends Omit<ConflictReport, "cell"> {
  readonly cell: EventCell;
}

/** The most frequent conflicts of the last minutes, by cell, loser and winner. */
export class ConflictCounts {
  readonly #winners: Winners;
  readonly #windowMs: number;
  #pairs = new Map<string, ConflictCount>();
  #before = new Map<string, ConflictCount>();
  #begunAt: number;
  /**
   * Conflicts whose winners have no known name, because they have not ended yet or run in another
   * process.
   */
  #unknown: ConflictCount[] = [];

  constructor(winners: Winners, windowMs: number, nowMs: number) {
    this.#winners = winners;
    this.#windowMs = windowMs;
    this.#begunAt = nowMs;
  }

  add(nowMs: number, cell: EventCell, loser: string, winnerTimestamp: number | undefined): void {
    this.#turn(nowMs);
    const winner = this.#winners.of(winnerTimestamp);
    const conflict = { cell, loser, winner, winnerTimestamp, count: 1, lastAt: nowMs };
    if (winner !== undefined || winnerTimestamp === undefined) this.#count(conflict);
    else this.#unknown.push(conflict);
    if (this.#unknown.length > maxUnknown) this.#count(this.#unknown.shift()!);
  }

  /**
   * Starts a new window if the current one has ended. The counts of the ended window replace those
   * of the window before it.
   */
  #turn(nowMs: number): void {
    if (nowMs - this.#begunAt < this.#windowMs) return;
    this.#before = this.#pairs;
    this.#pairs = new Map();
    this.#begunAt = nowMs;
    this.#unknown = this.#unknown.filter(({ lastAt }) => nowMs - lastAt < this.#windowMs);
  }

  #count(conflict: ConflictCount): void {
    const one = { ...conflict, winnerTimestamp: undefined };
    const key = keyOf(one);
    const known = this.#pairs.get(key);
    if (known === undefined && this.#pairs.size >= maxPairs) this.#dropRarest();
    this.#pairs.set(key, known === undefined ? one : addConflicts(known, one));
  }

  #dropRarest(): void {
    const rarest = [...this.#pairs].reduce((a, b) => (b[1].count < a[1].count ? b : a));
    this.#pairs.delete(rarest[0]);
  }

  /** All conflicts, in no order. */
  list(nowMs: number): readonly ConflictCount[] {
    this.#turn(nowMs);
    const unknown = this.#unknown;
    this.#unknown = [];
    for (const each of unknown) {
      const winner = this.#winners.of(each.winnerTimestamp);
      if (winner === undefined) this.#unknown.push(each);
      else this.#count({ ...each, winner });
    }
    const known = sumByKey([...this.#before.values(), ...this.#pairs.values()], keyOf, addConflicts);
    return [...known, ...this.#unknown];
  }
}

/** Adds up the conflicts of one pair over one cell. */
export function addConflicts<C extends Pick<ConflictReport, "count" | "lastAt">>(sum: C, one: C): C {
  return { ...one, count: sum.count + one.count, lastAt: Math.max(sum.lastAt, one.lastAt) };
}

function keyOf({ cell, loser, winner }: ConflictCount): string {
  const bytes = (part: Uint8Array) => Buffer.from(part).toString("base64");
  return JSON.stringify([cell.table, bytes(cell.row), bytes(cell.column), loser, winner]);
}
