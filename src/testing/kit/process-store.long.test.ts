import { afterEach, describe, it } from "vitest";
import { temporaryFolder } from "../../../test/support/databases.js";
import { openLmdbStore } from "../../store/lmdb/index.js";
import { storeConformance } from "../store-conformance.js";
import { ProcessStore, TestClock } from "./index.js";

const ends: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

// A folder lends the bytes of a row until its next read, which a slow store delays.
storeConformance(
  "a process's slow store over a folder",
  async () => {
    const folder = await temporaryFolder();
    const store = await openLmdbStore(folder.path);
    ends.push(folder.remove, () => store.close());
    return new ProcessStore(store, new TestClock({ passesByItself: true }).process(), { delayMs: 10 });
  },
  { describe, it, atomicBatches: true, seeds: [1], steps: 50 },
);
