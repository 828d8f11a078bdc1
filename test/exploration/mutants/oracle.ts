import type { Mutant } from "./mutant.js";

/** Mutants of the oracle and its clients. */
export const oracleMutants: readonly Mutant[] = [
  {
    name: "a counter window per process",
    takesLong: true,
    patches: [
      {
        file: "src/oracle/counter.ts",
        find: "next: (options) => store.next(options),",
        replace: `window: [],
    async next(options) {
      if (this.window.length === 0) this.window.push(await store.next(options), await store.next(options));
      return this.window.shift();
    },`,
      },
    ],
    killedBy: "twoIncrements",
  },
  {
    name: "oracle window shared by two leaders",
    takesLong: true,
    patches: [
      {
        file: "src/oracle/leader.ts",
        find: "    const floor = standing?.record.mark ?? this.#highest;\n",
        replace: "    const floor = 0;\n",
      },
    ],
    killedBy: "twoLeaders",
  },
  {
    name: "a leader that answers after its lease",
    takesLong: true,
    patches: [
      {
        file: "src/oracle/leader.ts",
        find: "if (this.#term === term && term.holds(readClocks(this.#environment))) return;",
        replace: "if (this.#term === term) return;",
      },
    ],
    killedBy: "leaderStandsStill",
  },
  {
    name: "a batch of timestamps given to a caller who asked after it was sent",
    patches: [
      {
        file: "src/oracle/gathered.ts",
        find: "unlessAborted(this.#request(count, abort.signal), abort.signal,",
        replace: `const early = async () => {
      const { first } = await this.#request(count + 1, abort.signal);
      const late = abort.signal.aborted ? undefined : this.#queue.shift();
      if (late !== undefined) (groups as CallerGroup[]).push(late);
      return { first, count };
    };
    unlessAborted(early(), abort.signal,`,
      },
    ],
    killedBy: "gathering",
  },
];
