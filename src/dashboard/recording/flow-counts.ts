import type { EventCell, EventMap } from "../../events/index.js";
import { isSystemPath } from "../../schema/index.js";
import { asBuffer, equalBytes } from "../../store/index.js";
import type { FlowReport } from "./report.js";
import { SlotCounts } from "./slot-counts.js";

const maxFlows = 2_000;
/** The most cells that the event of a transaction names. */
const maxNamed = 64;
const slotMs = 10_000;
/** Number of full slots. Together with the current slot, they cover the last minute. */
const slots = 5;

type FlowName = Omit<FlowReport, "perSecond">;

/** Which columns the runs of observers read and write, and how often in the last minute. */
export class FlowCounts {
  readonly #flows = new Map<string, FlowName & { readonly counts: SlotCounts }>();
  readonly #begunAt: number;

  constructor(nowMs: number) {
    this.#begunAt = nowMs;
  }

  add(nowMs: number, { cause, read, reads, written, cells, hinted }: EventMap["transaction"]): void {
    if (cause === undefined) return;
    this.#addCells(nowMs, cause.observer, "reads", read, reads);
    this.#addCells(nowMs, cause.observer, "writes", written, cells);
    // A notification writes no cell. A cell that became due without a write was therefore notified.
    const notified = hinted.filter((cell) => !written.some((each) => isSame(each, cell)));
    this.#addCells(nowMs, cause.observer, "writes", notified, notified.length);
  }

  /**
   * Counts the cells that a transaction touched. If there are more cells than the event names, each
   * named cell stands for several of them.
   */
  #addCells(
    nowMs: number,
    observer: string,
    does: FlowReport["does"],
    named: readonly EventCell[],
    all: number,
  ): void {
    const weight = named.length < maxNamed ? 1 : Math.max(1, all / named.length);
    for (const { table, column } of named) {
      if (isSystemPath(column)) continue;
      this.#counts({ observer, table, column: columnName(column), does })?.add(nowMs, weight);
    }
  }

  #counts(name: FlowName): SlotCounts | undefined {
    const key = flowKey(name);
    const known = this.#flows.get(key);
    if (known !== undefined || this.#flows.size >= maxFlows) return known?.counts;
    const counts = new SlotCounts(slots, slotMs);
    this.#flows.set(key, { ...name, counts });
    return counts;
  }

  list(nowMs: number): readonly FlowReport[] {
    const passedMs = Math.min(slots * slotMs + (nowMs % slotMs), nowMs - this.#begunAt);
    const seconds = Math.max(1, passedMs / 1_000);
    return [...this.#flows.values()].map(({ counts, ...name }) => {
      return { ...name, perSecond: counts.total(nowMs) / seconds };
    });
  }
}

/** A text that is the same for the same flow. */
export function flowKey({ observer, does, table, column }: FlowName): string {
  return `${observer}\0${does}\0${table}\0${column}`;
}

/** The name of a column or family; `*` for a whole row. */
function columnName(path: Uint8Array): string {
  const end = path.indexOf(0);
  const name = asBuffer(path).toString("utf8", 0, end < 0 ? path.length : end);
  return name === "" ? "*" : name;
}

function isSame(one: EventCell, other: EventCell): boolean {
  return one.table === other.table && equalBytes(one.row, other.row) && equalBytes(one.column, other.column);
}
