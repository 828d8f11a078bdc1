import type { Candidate } from "./candidates.js";

/** A mutant with the same behaviour as the source, which no test can detect, and the reason. */
export interface Equivalent extends Pick<Candidate, "path" | "kind" | "change"> {
  readonly why: string;
}

/** Mutants that were drawn once and analysed. They are listed instead of run. */
export const equivalents: readonly Equivalent[] = [
  {
    path: "src/observer/scan/scan-loop.ts",
    kind: "swapped",
    change: "await this.#running; this.wake(); → this.wake(); await this.#running;",
    why: "A wake during a scan starts the next scan when that scan ends, and the code then awaits `this.#running` again.",
  },
  {
    path: "src/transaction/maintenance/collect.ts",
    kind: "1 removed",
    change: "this.#safepoint + 1 → this.#safepoint",
    why: "The mutant also reads the write record at the safepoint itself. That record is the newest one at or below the safepoint, so it is the first of `kept`, and its data is already listed. No such record can appear after `kept` was read: its transaction would have begun below the safepoint, and the locks of those transactions were resolved before.",
  },
  {
    path: "src/oracle/gathered.ts",
    kind: "guard removed",
    change: "if (this.#isClosed) return; → ;",
    why: "A second close would refuse callers that were already refused, and abort what was already aborted. Both do nothing.",
  },
  {
    path: "src/store/lmdb/file/pages.ts",
    kind: "swapped",
    change: "this.#file = file; this.size = size; → this.size = size; this.#file = file;",
    why: "The constructor assigns both fields from its arguments, and reads neither.",
  },
  {
    path: "src/store/bigtable/write/gather-writes.ts",
    kind: "swapped",
    change:
      "answered.add(index); settling.push( this.#answer(batch[index] ?? [], … → settling.push( this.#answer(batch[index] ?? [], entry.status?.code ??…",
    why: "No `await` is between the two statements, `#answer` never throws synchronously, and `answered` is first read after the whole answer has arrived.",
  },
  {
    path: "src/transaction/core.ts",
    kind: "swapped",
    change: "this.assertOpen(); this.buffer.set(write); → this.buffer.set(write); this.assertOpen();",
    why: "`assertOpen` refuses a write during a commit, or after the end. The commit has copied the writes before that, so it does not contain the refused write.",
  },
  {
    path: "src/transaction/cell/raw.ts",
    kind: "operand removed",
    change: 'part === "data" && timestamp === start → true && timestamp === start',
    why: "No timestamp is given twice, and a write record is stored at a commit timestamp. So of the records that are read here, only data can be stored at a start timestamp.",
  },
];

/** Returns why a mutant changes no behaviour, or undefined if it may. */
export function whyEquivalent({ path, kind, change }: Candidate): string | undefined {
  return equivalents.find((each) => each.path === path && each.kind === kind && each.change === change)?.why;
}
