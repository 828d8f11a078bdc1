import type { Mutant } from "./mutant.js";

const guards = "src/transaction/cell/guards.ts";
const primary = "src/transaction/lock/primary.ts";
const resolve = "src/transaction/lock/resolve.ts";
const twoPhase = "src/transaction/commit/two-phase.ts";

/** Mutants of the two-phase commit and of lock resolution. */
export const commitMutants: readonly Mutant[] = [
  {
    name: "a commit without an answer told as one that wrote nothing",
    takesLong: true,
    patches: [
      {
        file: twoPhase,
        find: "      const outcome = await this.#decide();\n",
        replace:
          '      if (answer === "unknown") throw this.#unanswered();\n      const outcome = await this.#decide();\n',
      },
    ],
    killedBy: "twoWritersLostAnswer",
  },
  {
    name: "a one-phase commit without an answer told as one that wrote nothing",
    takesLong: true,
    patches: [
      {
        file: "src/transaction/commit/one-phase.ts",
        find: 'if (answer.answer === "unknown") throw outcomeUnknown(request, answer.cause);',
        replace: 'if (answer.answer === "unknown") throw registryNeverStill(request);',
      },
    ],
    killedBy: "toldOnePhase",
  },
  {
    name: "no ROLLBACK tombstone",
    takesLong: true,
    patches: [
      {
        file: primary,
        find: "      ...[primary.column, ...others].flatMap((column) => deleteLockAndData(column, start)),\n      rolledBack(primary.column, start),\n",
        replace:
          "      ...[primary.column, ...others].flatMap((column) => deleteLockAndData(column, start)),\n",
      },
      {
        file: primary,
        find: "    mutations: [rolledBack(primary.column, start)],",
        replace: "    mutations: [],",
      },
    ],
    killedBy: "twoWritersGuess",
  },
  {
    name: "status of a missing primary read without FENCE",
    takesLong: true,
    patches: [
      {
        file: primary,
        find: 'answer = await hooks.step("fence-primary", info, () => fence(store, primary, start));',
        replace: 'return { outcome: "rolled-back" };',
      },
    ],
    killedBy: "twoWritersGuess",
  },
  {
    name: "secondary resolved before its primary",
    takesLong: true,
    patches: [
      {
        file: resolve,
        find: "    const status = await rollbackPrimary(context, met.lock.primary, met.start, resolution.signal);\n",
        replace:
          "    await rollBack(context, met);\n    const status = await rollbackPrimary(context, met.lock.primary, met.start, resolution.signal);\n",
      },
    ],
    killedBy: "writerAndReaderFromTheEnd",
  },
  {
    name: "prewrite ignoring locks",
    patches: [
      {
        file: guards,
        find: 'export function prewriteGuards(column: Uint8Array, start: number): AbsentGuard[] {\n  return [\n    { type: "absent", column, part: "lock", from: 0, to: forever },\n',
        replace:
          "export function prewriteGuards(column: Uint8Array, start: number): AbsentGuard[] {\n  return [\n",
      },
    ],
    killedBy: "twoWritersGuess",
  },
  {
    name: "prewrite ignoring write[S,inf)",
    takesLong: true,
    patches: [
      {
        file: guards,
        find: '    { type: "absent", column, part: "write", from: start, to: forever },\n',
        replace: "",
      },
    ],
    killedBy: "twoWritersGuess",
  },
  {
    name: "prewrite sent again without its guards, after a lock was cleared away",
    takesLong: true,
    patches: [
      {
        file: "src/transaction/commit/prewrite.ts",
        find: "      sendPrewrite(context, request, mutation),\n",
        replace:
          "      sendPrewrite(context, request, wasCleared ? { ...mutation, guards: [] } : mutation),\n",
      },
    ],
    killedBy: "twoWritersGuess",
  },
  {
    name: "C taken before the last prewrite",
    patches: [
      {
        file: twoPhase,
        find: "      await this.#prewriteAll(this.#allChunks);\n",
        replace:
          "      this.early = await this.#takeTimestamp();\n      await this.#prewriteAll(this.#allChunks);\n",
      },
      {
        file: twoPhase,
        find: "const commit = await this.#orAbandon(() => this.#takeTimestamp());",
        replace:
          "const commit = push === 0 ? this.early : await this.#orAbandon(() => this.#takeTimestamp());",
      },
    ],
    killedBy: "writerAndReaderStop",
  },
  {
    name: "COMMIT without the min_commit_ts check",
    patches: [
      { file: guards, find: "at: start, below: encodeTimestamp(commit + 1) };", replace: "at: start };" },
    ],
    killedBy: "writerAndReaderStop",
    order: "depth-first",
  },
  {
    name: "secondary commit unguarded (with GC on)",
    takesLong: true,
    patches: [
      {
        file: twoPhase,
        find: "return [lockedGuard(first.column, this.#request.start)];",
        replace: "return [];",
      },
    ],
    killedBy: "collectionOfDeleted",
  },
  {
    name: "rollback deleting data where no lock stood",
    takesLong: true,
    patches: [
      {
        file: primary,
        find: '    if (found.state === "decided") return found.status;\n',
        replace:
          '    if (found.state === "decided") return found.status;\n    await store.mutate({ table: primary.table, row: primary.row, guards: [], mutations: [deleteLockAndData(primary.column, start)[1]] });\n',
      },
    ],
    killedBy: "twoWritersOfLongValues",
  },
  {
    name: "pushing the lock that was met in place of its primary",
    takesLong: true,
    patches: [
      {
        file: resolve,
        find: "    const { primary } = met.lock;\n",
        replace: "    const primary = met.cell;\n",
      },
      {
        file: resolve,
        find: "guards: [lockValueGuard(primary.column, met.start, found.value)],",
        replace: "guards: [lockedGuard(primary.column, met.start)],",
      },
      {
        file: resolve,
        find: "value: encodeLock({ ...found.lock, minCommit: needed }),",
        replace: "value: encodeLock({ ...met.lock, minCommit: needed }),",
      },
    ],
    killedBy: "pushByTwo",
  },
  {
    name: "a refresh of wall time that undoes a push",
    takesLong: true,
    patches: [
      {
        file: "src/transaction/commit/refresh.ts",
        find: 'import { lockValueGuard } from "../cell/guards.js";',
        replace: 'import { lockedGuard as lockValueGuard } from "../cell/guards.js";',
      },
    ],
    killedBy: "push",
  },
  {
    name: "retry that re-applies buffered writes on a new snapshot",
    takesLong: true,
    patches: [
      {
        file: "src/transaction/transact.ts",
        find: "    const returned = run(tx);\n",
        replace:
          "    if (run.kept !== undefined) for (const write of run.kept) core.write(write);\n    const returned = run.kept !== undefined ? Promise.resolve() : Promise.resolve(run(tx)).then((value) => { run.kept = [...core.buffer.all()]; return value; });\n",
      },
    ],
    killedBy: "twoIncrements",
  },
  {
    name: "validation that ignores locks",
    takesLong: true,
    patches: [
      {
        file: "src/transaction/commit/validate.ts",
        find: "if (cell.lock !== undefined && cell.lock.timestamp !== request.start) {",
        replace: "if (false) {",
      },
    ],
    killedBy: "writeSkew",
  },
  {
    name: "validation that skips the first row read",
    takesLong: true,
    patches: [
      {
        file: "src/transaction/commit/validate.ts",
        find: "  const rows = reads.rows();\n",
        replace: "  const rows = reads.rows().slice(1);\n",
      },
    ],
    killedBy: "writeSkew",
  },
  {
    name: "one-phase validation of point reads that ignores locks",
    takesLong: true,
    patches: [
      {
        file: "src/transaction/commit/one-phase.ts",
        find: "rows.add(cell, onePhaseGuards(column.exact, start), []);",
        replace:
          'rows.add(cell, onePhaseGuards(column.exact, start).filter(({ part }) => part !== "lock"), []);',
      },
    ],
    killedBy: "writeSkewMixed",
  },
  {
    name: "validation that ignores ranges",
    takesLong: true,
    patches: [
      {
        file: "src/transaction/commit/validate.ts",
        find: "  for (const range of reads.ranges) await validateRange(context, request, range, commit);\n",
        replace: "",
      },
    ],
    killedBy: "phantom",
  },
  {
    name: "validation that ignores a new C",
    takesLong: true,
    patches: [
      {
        file: twoPhase,
        find: "await this.#orAbandon(() => this.#validate(commit));",
        replace: "if (push === 0) await this.#orAbandon(() => this.#validate(commit));",
      },
    ],
    killedBy: "pushedReader",
  },
  {
    name: "one-phase S from another snapshot than its reads",
    takesLong: true,
    patches: [
      {
        file: "src/transaction/core.ts",
        find: "      outcome = this.#commitBuffered();\n",
        replace: `      outcome = Promise.resolve(this.context.oracle.latest()).then((latest) => {
        this.latest = latest;
        return this.#commitBuffered();
      });
`,
      },
      {
        file: "src/transaction/core.ts",
        find: "      start: this.startTimestamp,\n      epoch:",
        replace: "      start: this.#phases === 1 ? this.latest : this.startTimestamp,\n      epoch:",
      },
    ],
    killedBy: "threeWritersOnePhase",
  },
];
