import type { Mutant } from "./mutant.js";

const load = "src/observer/load/load.ts";
const discard = "src/observer/load/discard.ts";
const ranges = "src/observer/load/load-ranges.ts";

/** Mutants of bulk loads, and of what keeps transactions and readers apart from them. */
export const loadMutants: readonly Mutant[] = [
  {
    name: "a load published before its last batch is stored",
    patches: [
      {
        file: load,
        find: "      while (flights.length > 0) await this.#land(part, flights);\n",
        replace: "",
      },
      { file: load, find: "      await this.#landStored(part, flights);\n", replace: "" },
    ],
    killedBy: "loadWithLostAnswer",
    order: "depth-first",
  },
  {
    name: "a load without the check that its ranges are empty",
    takesLong: true,
    patches: [
      {
        file: load,
        find: "    await checkEmpty(this.#context, view, name, ranges, at, signal);\n",
        replace: "",
      },
    ],
    killedBy: "loadAndWriter",
  },
  {
    name: "locks in a load's ranges left alone",
    patches: [
      {
        file: ranges,
        find: "      if (found === undefined) break;\n",
        replace:
          '      if (found === undefined || found.cells.some(({ versions }) => versions.some(({ part }) => part === "lock"))) break;\n',
      },
    ],
    killedBy: "loadAndWriterInTwoPhases",
    takesLong: true,
  },
  {
    name: "a load that does not wait for copies of the registry",
    takesLong: true,
    patches: [
      { file: load, find: "    if (waitMs > 0) await sleep(", replace: "    if (false) await sleep(" },
    ],
    killedBy: "loadAndWriterDistant",
    order: "depth-first",
  },
  {
    name: "a load without acknowledgments",
    patches: [{ file: load, find: "return isOfTable ?", replace: "return false ?" }],
    killedBy: "loadThenObserved",
    order: "depth-first",
  },
  {
    name: "batches of a load without the guard on its owner",
    patches: [
      {
        file: "src/observer/load/load-writer.ts",
        find: '        { type: "absent", column, part: "write", from: ownedAt + 1, to },\n',
        replace: "",
      },
    ],
    killedBy: "loadTakenOverWithOtherRows",
    takesLong: true,
    order: "depth-first",
  },
  {
    name: "a load's position stored before its rows",
    patches: [
      {
        file: load,
        find: "      flights.push(this.#send(batch));\n",
        replace: "      flights.push(this.#send(batch));\n      this.#advance(part, flights.at(-1)!);\n",
      },
    ],
    killedBy: "loadTakenOver",
    takesLong: true,
    order: "depth-first",
  },
  {
    name: "a continued load that keeps what is beyond its position",
    patches: [
      { file: load, find: "if (stored !== undefined) await this.#removeRest(progress);", replace: "" },
    ],
    killedBy: "loadTakenOverWithOtherRows",
    order: "depth-first",
  },
  {
    name: "a discarded load that leaves its rows",
    patches: [
      {
        file: discard,
        find: "for (const range of record.ranges) await removeLoaded(",
        replace: "for (const range of []) await removeLoaded(",
      },
    ],
    killedBy: "loadDiscarded",
    order: "depth-first",
  },
  {
    name: "a discard that does not look at the state again",
    patches: [{ file: discard, find: "      mayDiscard(view, name);\n", replace: "" }],
    killedBy: "loadDiscarded",
    order: "depth-first",
  },
  {
    name: "a reader that shows what is not published",
    patches: [
      {
        file: "src/transaction/read/settle.ts",
        find: "          if (isVisible !== true) continue;\n",
        replace: "",
      },
    ],
    killedBy: "loadAndReader",
    order: "depth-first",
  },
  {
    name: "a reader that shows a published load at every timestamp",
    patches: [
      {
        file: "src/transaction/cell/known-loads.ts",
        find: "return this.#lastPublished <= at;",
        replace: "return this.#lastPublished < Number.POSITIVE_INFINITY;",
      },
    ],
    killedBy: "loadAndReader",
    order: "depth-first",
  },
  {
    name: "a one-phase commit into the ranges of a load",
    patches: [
      {
        file: "src/transaction/commit/one-phase.ts",
        find: "const refused = view === undefined ? undefined : keptOut(request, view);",
        replace: "const refused = undefined;",
      },
    ],
    killedBy: "loadAndWriter",
    order: "depth-first",
  },
  {
    name: "a two-phase commit into the ranges of a load",
    patches: [
      {
        file: "src/transaction/commit/put-hints.ts",
        find: "  await checkLoads(context, request, view);\n",
        replace: "",
      },
    ],
    killedBy: "loadAndWriterInTwoPhases",
    order: "depth-first",
  },
  {
    name: "validation that ignores a published load",
    patches: [
      {
        file: "src/transaction/commit/load-barrier.ts",
        find: 'return hasRead ? conflictWith(name, request.start, "has read in its range") : undefined;',
        replace: "return undefined;",
      },
    ],
    killedBy: "loadAndSerializable",
    order: "depth-first",
  },
];
