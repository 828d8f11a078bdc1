import type { Mutant } from "./mutant.js";

/** Mutants of the optimisations that save requests. */
export const wireMutants: readonly Mutant[] = [
  {
    name: "a lock on what came ahead counts for nothing",
    takesLong: true,
    patches: [
      {
        file: "src/transaction/read/prefetch.ts",
        find: "    if (view !== undefined) taken.push(view);\n",
        replace:
          "    if (view !== undefined) taken.push(named === undefined ? view : { ...view, lock: undefined });\n",
      },
    ],
    killedBy: "columnsAhead",
  },
  {
    name: "mutations joined under the guards of one of them",
    patches: [
      {
        file: "src/transaction/wire/joined-mutations.ts",
        find: "guards: group.flatMap(({ mutation }) => mutation.guards),",
        replace: "guards: group[0].mutation.guards,",
      },
    ],
    killedBy: "joinedMutations",
  },
];
