import type { Mutant } from "./mutant.js";

const collect = "src/transaction/maintenance/collect.ts";
const twoPhase = "src/transaction/commit/two-phase.ts";

/** Mutants of garbage collection, and of the guards that protect transactions from it. */
export const collectionMutants: readonly Mutant[] = [
  {
    name: "GC without quiesce",
    takesLong: true,
    patches: [{ file: collect, find: "    await this.#quiesce();\n", replace: "" }],
    killedBy: "collectionUnderWriterDistant",
  },
  {
    name: "GC without quiesce: a prewrite that does not check the safepoint in its batch",
    takesLong: true,
    patches: [
      {
        file: "src/transaction/commit/prewrite.ts",
        find: "store.atomic.commit({ rows: [mutation, safepoint.guard(start)] });",
        replace: "store.atomic.commit({ rows: [mutation] });",
      },
    ],
    killedBy: "collectionUnderWriter",
  },
  {
    name: "GC without quiesce: a prewrite that was under way for longer",
    takesLong: true,
    patches: [
      {
        file: twoPhase,
        find: "    if (store.atomic === undefined) await safepoint.check(this.#request.start);\n",
        replace: "",
      },
    ],
    killedBy: "collectionUnderWriterDistant",
  },
  {
    name: "GC without resolve",
    takesLong: true,
    patches: [
      {
        file: collect,
        find: "    for (const table of this.#tables) await this.#resolveLocks(table);\n",
        replace: "",
      },
    ],
    killedBy: "collectionAndWriter",
  },
  {
    name: "status dropped before its locks are resolved",
    takesLong: true,
    patches: [
      {
        file: collect,
        find: "    for (const table of this.#tables) await this.#resolveLocks(table);\n",
        replace: "",
      },
      {
        file: collect,
        find: "    await this.#dropAll(view);\n",
        replace:
          "    await this.#dropAll(view);\n    for (const table of this.#tables) await this.#resolveLocks(table);\n",
      },
    ],
    killedBy: "collectionAndWriter",
  },
  {
    name: '"aborted" concluded below the safepoint',
    takesLong: true,
    patches: [
      {
        file: twoPhase,
        find: "if ((await this.#ask(() => this.#context.safepoint.current())) > start) {",
        replace: "if (false) {",
      },
    ],
    killedBy: "collectionAndLostAnswerOfOneCell",
  },
  {
    name: "a delete marker dropped before an ack",
    takesLong: true,
    patches: [
      {
        file: collect,
        find: "covers(observer, acknowledged.get(observer), newest.timestamp, this.#safepoint, cell.row),",
        replace: "true,",
      },
    ],
    killedBy: "deletionOfUnseen",
  },
  {
    name: "the version that `previous` needs dropped",
    takesLong: true,
    patches: [
      {
        file: collect,
        find: "if (previous !== undefined) needed.add(previous);",
        replace: "",
      },
    ],
    killedBy: "collectionBesideObserverOnePhase",
  },
  {
    name: "one-phase without the safepoint check",
    takesLong: true,
    patches: [
      {
        file: "src/transaction/commit/one-phase.ts",
        find: "const safepointRow = rows.append(context.safepoint.guard(request.start));",
        replace: "const safepointRow = -1;",
      },
    ],
    killedBy: "collectionUnderWriterOnePhase",
  },
  {
    name: "no safepoint check when an older version is found",
    takesLong: true,
    patches: [
      {
        file: "src/transaction/cell/cell-views.ts",
        find: "return page.cells.every((cell) => cell.latest && cell.write !== undefined);",
        replace: "return page.cells.every((cell) => cell.write !== undefined);",
      },
    ],
    killedBy: "readerBelowPrevious",
  },
];
