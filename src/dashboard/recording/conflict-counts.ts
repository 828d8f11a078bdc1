import type { EventCell } from "../../events/index.js";
import type { Winners } from "./winners.js";

const maxPairs = 200;
const maxUnknown = 200;

/** How often one name lost a cell to another. */
export interface ConflictCount {
  readonly cell: EventCell;
  readonly loser: string;
  /** Undefined if only its timestamp is known, or not even that. */
  readonly winner: string | undefined;
  readonly winnerTimestamp: number | undefined;
  readonly count: number;
  readonly lastAt: number;
}

interface Counting {
  readonly cell: EventCell;
  readonly loser: string;
  readonly winner: string | undefined;
  count: number;
  lastAt: number;
}

interface Unknown extends Omit<Counting, "winner"> {
  readonly winnerTimestamp: number;
}

/** The most frequent conflicts of the last minutes, by cell, loser and winner. */
export class ConflictCounts {
  readonly #winners: Winners;
  readonly #windowMs: number;
  #pairs = new Map<string, Counting>();
  #before = new Map<string, Counting>();
  #begunAt: number;
  /** Conflicts whose winners have not ended yet, or run in another process. */
  #unknown: Unknown[] = [];

  constructor(winners: Winners, windowMs: number, nowMs: number) {
    this.#winners = winners;
    this.#windowMs = windowMs;
    this.#begunAt = nowMs;
  }

  add(nowMs: number, cell: EventCell, loser: string, winnerTimestamp: number | undefined): void {
    this.#turn(nowMs);
    const winner = this.#winners.of(winnerTimestamp);
    if (winner !== undefined || winnerTimestamp === undefined) {
      this.#count({ cell, loser, winner, count: 1, lastAt: nowMs });
      return;
    }
    this.#unknown.push({ cell, loser, winnerTimestamp, count: 1, lastAt: nowMs });
    if (this.#unknown.length > maxUnknown) this.#count({ ...this.#unknown.shift()!, winner: undefined });
  }

  /** Starts new counts after each window, and keeps those of the window before. */
  #turn(nowMs: number): void {
    if (nowMs - this.#begunAt < this.#windowMs) return;
    this.#before = this.#pairs;
    this.#pairs = new Map();
    this.#begunAt = nowMs;
    this.#unknown = this.#unknown.filter(({ lastAt }) => nowMs - lastAt < this.#windowMs);
  }

  #count(one: Counting): void {
    const key = keyOf(one);
    const counted = this.#pairs.get(key);
    if (counted !== undefined) {
      counted.count += one.count;
      counted.lastAt = Math.max(counted.lastAt, one.lastAt);
      return;
    }
    if (this.#pairs.size >= maxPairs) this.#dropRarest();
    this.#pairs.set(key, { ...one });
  }

  #dropRarest(): void {
    let rarest: readonly [string, Counting] | undefined;
    for (const entry of this.#pairs) {
      if (rarest === undefined || entry[1].count < rarest[1].count) rarest = entry;
    }
    if (rarest !== undefined) this.#pairs.delete(rarest[0]);
  }

  /** All conflicts, in no order. */
  list(nowMs: number): readonly ConflictCount[] {
    this.#turn(nowMs);
    this.#settleUnknown();
    const sums = new Map<string, Counting>();
    for (const pair of [...this.#before.values(), ...this.#pairs.values()]) {
      const key = keyOf(pair);
      const sum = sums.get(key);
      const count = (sum?.count ?? 0) + pair.count;
      sums.set(key, { ...pair, count, lastAt: Math.max(sum?.lastAt ?? 0, pair.lastAt) });
    }
    const known = [...sums.values()].map((pair) => ({ ...pair, winnerTimestamp: undefined }));
    return [...known, ...this.#unknown.map((each) => ({ ...each, winner: undefined }))];
  }

  #settleUnknown(): void {
    const left: Unknown[] = [];
    for (const each of this.#unknown) {
      const winner = this.#winners.of(each.winnerTimestamp);
      if (winner === undefined) left.push(each);
      else this.#count({ ...each, winner });
    }
    this.#unknown = left;
  }
}

function keyOf({ cell, loser, winner }: Omit<Counting, "count" | "lastAt">): string {
  const bytes = (part: Uint8Array) => Buffer.from(part).toString("base64");
  return JSON.stringify([cell.table, bytes(cell.row), bytes(cell.column), loser, winner]);
}
