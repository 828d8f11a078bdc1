import type { Candidate } from "./candidates.js";

/** A mutant that does what the source does, so that no test can tell them apart; and why. */
export interface Equivalent extends Pick<Candidate, "path" | "kind" | "change"> {
  readonly why: string;
}

/** Those that were drawn once and thought through. They are named in place of being run. */
export const equivalents: readonly Equivalent[] = [
  {
    path: "src/observer/scan/scan-loop.ts",
    kind: "swapped",
    change: "await this.#running; this.wake(); → this.wake(); await this.#running;",
    why: "A wake during a scan begins the next one as that scan ends, and a second `await this.#running` follows.",
  },
  {
    path: "src/transaction/maintenance/collect.ts",
    kind: "1 removed",
    change: "this.#safepoint + 1 → this.#safepoint",
    why: "Besides the same, it reads the write record at the safepoint itself. That one is the newest up to it, so it is the first of `kept`, whose data is named already. None can come after `kept` was read: its transaction began below the safepoint, and the locks of those were resolved before.",
  },
  {
    path: "src/oracle/gathered.ts",
    kind: "guard removed",
    change: "if (this.#isClosed) return; → ;",
    why: "To close a second time refuses callers that were refused, and aborts what was aborted: neither does anything.",
  },
  {
    path: "src/store/lmdb/file/pages.ts",
    kind: "swapped",
    change: "this.#file = file; this.size = size; → this.size = size; this.#file = file;",
    why: "Both are fields that a constructor takes from its arguments, and neither is read there.",
  },
  {
    path: "src/store/bigtable/write/gather-writes.ts",
    kind: "swapped",
    change:
      "answered.add(index); settling.push( this.#answer(batch[index] ?? [], … → settling.push( this.#answer(batch[index] ?? [], entry.status?.code ??…",
    why: "Nothing waits between the two, `#answer` never throws at once, and `answered` is first read when the whole answer is there.",
  },
  {
    path: "src/transaction/core.ts",
    kind: "swapped",
    change: "this.assertOpen(); this.buffer.set(write); → this.buffer.set(write); this.assertOpen();",
    why: "A write is refused while a commit, which has copied the writes by then, is under way, or after the end. No commit sees it.",
  },
  {
    path: "src/transaction/cell/raw.ts",
    kind: "operand removed",
    change: 'part === "data" && timestamp === start → true && timestamp === start',
    why: "A timestamp is given once, and write records stand at commit timestamps: at the start of a commit there is only its data.",
  },
];

/** Why a mutant is no change, or undefined if it is one. */
export function whyEquivalent({ path, kind, change }: Candidate): string | undefined {
  return equivalents.find((each) => each.path === path && each.kind === kind && each.change === change)?.why;
}
