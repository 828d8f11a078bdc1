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
  {
    path: "src/backup/parts.ts",
    kind: "swapped",
    change:
      "bytes.writeUInt32BE(pageSize, 4); bytes.writeUInt32BE(numbers.length,… → bytes.writeUInt32BE(numbers.length, 8); bytes.writeUInt32BE(pageSize,…",
    why: "Both write into different bytes of one buffer.",
  },
  {
    path: "src/store/bigtable/store.ts",
    kind: "swapped",
    change:
      "this.#ending.abort(); this.#setting.tables.stopRepeating(); → this.#setting.tables.stopRepeating(); this.#ending.abort();",
    why: "No `await` is between the two. What they end goes on in a later microtask.",
  },
  {
    path: "src/coordinator/membership/leadership.ts",
    kind: "swapped",
    change:
      "this.#seenAt = options.environment.monotonic(); this.leader = new Ora… → this.leader = new OracleLeader({ ...options, onChange: (status) => th…",
    why: "The constructor of the leader calls nothing that reads the time.",
  },
  {
    path: "src/store/postgres/write/wave.ts",
    kind: "swapped",
    change: "this.tables.int4(table); this.rows.bytes(row); → this.rows.bytes(row); this.tables.int4(table);",
    why: "The two fill different arrays.",
  },
  {
    path: "src/store/lmdb/write/plan/overwrite.ts",
    kind: "1 removed",
    change: "2 * i + 1 → 2 * i",
    why: "No batch then counts as overwrites. All are planned cell by cell, more slowly and with the same result.",
  },
  {
    path: "src/postgres/attach/changes/changed-table.ts",
    kind: "swapped",
    change:
      "this.#followed = followed; this.#columns = tableColumns(followed.sour… → this.#columns = tableColumns(followed.source.target) as readonly Colu…",
    why: "The constructor assigns both fields from its argument, and reads neither.",
  },
  {
    path: "src/recipes/derive/source.ts",
    kind: "swapped",
    change:
      "this.#observed = reads === undefined ? readable : reads.map((name) =>… → this.#readsWhole = reads === undefined && (readable.length > maxSingl…",
    why: "The constructor assigns both fields from its arguments, and reads neither.",
  },
  {
    path: "src/schema/key/key-part.ts",
    kind: "swapped",
    change:
      "cursor.at = stop + 1; const plain = Buffer.allocUnsafe(stop - at); → const plain = Buffer.allocUnsafe(stop - at); cursor.at = stop + 1;",
    why: "`at` is a copy of the cursor's place, which the first statement does not change.",
  },
  {
    path: "src/oracle/gathered.ts",
    kind: "swapped",
    change:
      'checkWhole("maxAtOnce", this.#maxAtOnce, 1_000_000); this.#maxWaiting… → this.#maxWaiting = options.maxWaiting ?? 100_000; checkWhole("maxAtOn…',
    why: "Only the order of a check and an assignment that it does not read.",
  },
  {
    path: "src/evolution/pass.ts",
    kind: "off by one",
    change: "a.name < b.name → a.name <= b.name",
    why: "The names that are sorted are keys of one map, so no two are equal.",
  },
  {
    path: "src/store/lmdb/write/plan/fill-planner.ts",
    kind: "swapped",
    change:
      "const start = low.raw(first); const end = high.raw(last); → const end = high.raw(last); const start = low.raw(first);",
    why: "The two encode into buffers of their own.",
  },
  {
    path: "src/transaction/background.ts",
    kind: "operand removed",
    change:
      "this.#isBeginning || this.#waiting.length === 0 || this.#underWay > f… → false || this.#underWay > fewUnderWay",
    why: "A second beginning in the same turn finds nothing waiting, and begins nothing.",
  },
  {
    path: "src/recipes/lookup/unique-constraint.ts",
    kind: "operand removed",
    change: "had === undefined || had === taken → had === undefined || false",
    why: "Only whether the owner of a value that stays is read. It is not freed either way.",
  },
  {
    path: "src/store/memory/store.ts",
    kind: "swapped",
    change:
      'this.#open("take a timestamp", options); this.#counter = this.#nextTi… → this.#counter = this.#nextTimestamp(); this.#open("take a timestamp",…',
    why: "Whether a closed store counts on. Nobody can read the counter of a closed store.",
  },
  {
    path: "src/observer/queue/task-board.ts",
    kind: "swapped",
    change:
      "this.#isWorked = options.isWorked; this.#turns = options.turns ?? new… → this.#turns = options.turns ?? new RowTurns(options.environment); thi…",
    why: "Two assignments of which neither reads what the other sets.",
  },
];

/** Returns why a mutant changes no behaviour, or undefined if it may. */
export function whyEquivalent({ path, kind, change }: Candidate): string | undefined {
  return equivalents.find((each) => each.path === path && each.kind === kind && each.change === change)?.why;
}
