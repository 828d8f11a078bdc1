import type { Mutant } from "./mutant.js";

const file = "src/evolution/expire.ts";

/** Mutants of the deletes of expired cells. */
export const expiryMutants: readonly Mutant[] = [
  {
    name: "expiry that does not look again for a newer write",
    takesLong: true,
    patches: [
      {
        file,
        find: "return cell !== undefined && !cell.isDeleted && this.#isOld({ column, commit: cell.commit });",
        replace: "return cell !== undefined && !cell.isDeleted;",
      },
    ],
    killedBy: "expiryBesideWriter",
  },
  {
    name: "expiry that deletes without hints for observers",
    patches: [
      {
        file,
        find: 'const tx = await CoreTransaction.begin(this.#registry.context, { label: "expiry", signal });',
        replace: 'const tx = await this.#registry.systemTransaction("expiry", signal);',
      },
    ],
    killedBy: "expiryBesideObserver",
  },
  {
    name: "expiry by a clock that is ahead of the timestamps",
    takesLong: true,
    patches: [
      { file, find: "this.#now = Math.min(now * 1_000, claimedAt);", replace: "this.#now = now * 1_000;" },
    ],
    killedBy: "expiryBesideWriter",
  },
];
