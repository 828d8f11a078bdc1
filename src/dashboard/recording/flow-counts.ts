import type { EventCell, EventMap } from "../../events/index.js";
import { isSystemPath } from "../../schema/index.js";
import { asBuffer } from "../../store/index.js";
import type { FlowReport } from "./report.js";

const maxFlows = 2_000;
const slotMs = 10_000;
const slots = 6;

interface Flow extends Omit<FlowReport, "perSecond"> {
  readonly counts: number[];
  /** Number of the newest slot. */
  slot: number;
}

/** Which columns the runs of observers read and write, and how often in the last minute. */
export class FlowCounts {
  readonly #flows = new Map<string, Flow>();
  readonly #begunAt: number;

  constructor(nowMs: number) {
    this.#begunAt = nowMs;
  }

  add(nowMs: number, { cause, read, reads, written, cells, hinted }: EventMap["transaction"]): void {
    if (cause === undefined) return;
    this.#addCells(nowMs, cause.observer, "reads", read, reads);
    this.#addCells(nowMs, cause.observer, "writes", written, cells);
    // A signal is never written: a cell that became due without a write was notified.
    const notified = hinted.filter((cell) => !written.some((each) => isSame(each, cell)));
    this.#addCells(nowMs, cause.observer, "writes", notified, notified.length);
  }

  /**
   * If a transaction touched more cells than its event names, each named cell counts for several.
   */
  #addCells(
    nowMs: number,
    observer: string,
    does: "reads" | "writes",
    named: readonly EventCell[],
    all: number,
  ): void {
    const weight = named.length < maxNamed ? 1 : Math.max(1, all / named.length);
    for (const { table, column } of named) {
      if (isSystemPath(column)) continue;
      this.#count(nowMs, { observer, table, column: columnName(column), does }, weight);
    }
  }

  #count(nowMs: number, which: Omit<FlowReport, "perSecond">, weight: number): void {
    const key = `${which.observer}\0${which.does}\0${which.table}\0${which.column}`;
    const number = Math.floor(nowMs / slotMs);
    let flow = this.#flows.get(key);
    if (flow === undefined) {
      if (this.#flows.size >= maxFlows) return;
      flow = { ...which, counts: new Array<number>(slots).fill(0), slot: number };
      this.#flows.set(key, flow);
    }
    forward(flow, number);
    flow.counts[number % slots]! += weight;
  }

  list(nowMs: number): readonly FlowReport[] {
    const number = Math.floor(nowMs / slotMs);
    const seconds = Math.max(
      1,
      Math.min((slots - 1) * slotMs + (nowMs % slotMs), nowMs - this.#begunAt) / 1_000,
    );
    return [...this.#flows.values()].map((flow) => {
      forward(flow, number);
      const { observer, table, column, does, counts } = flow;
      return {
        observer,
        table,
        column,
        does,
        perSecond: counts.reduce((sum, each) => sum + each, 0) / seconds,
      };
    });
  }
}

/** The most cells that the event of a transaction names. */
const maxNamed = 64;

function forward(flow: Flow, number: number): void {
  for (let next = Math.max(flow.slot + 1, number - slots + 1); next <= number; next++)
    flow.counts[next % slots] = 0;
  flow.slot = Math.max(flow.slot, number);
}

/** The name of a column or family; `*` for a whole row. */
function columnName(path: Uint8Array): string {
  const end = path.indexOf(0);
  const name = asBuffer(path).toString("utf8", 0, end < 0 ? path.length : end);
  return name === "" ? "*" : name;
}

function isSame(one: EventCell, other: EventCell): boolean {
  const isSameRow = one.table === other.table && asBuffer(one.row).equals(other.row);
  return isSameRow && asBuffer(one.column).equals(other.column);
}
