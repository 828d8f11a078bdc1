import type { Database } from "percolatordb";
import { extract } from "../observers/extract.js";

/** Counts the pages that the first observer has read in this process. */
export class ReadCount {
  #count = 0;

  constructor(db: Pick<Database, "on">) {
    db.on("run", ({ observer, outcome }) => {
      // A run that conflicted or failed will be retried.
      if (observer === extract.name && (outcome === "committed" || outcome === "clean")) this.#count++;
    });
  }

  get count(): number {
    return this.#count;
  }
}
