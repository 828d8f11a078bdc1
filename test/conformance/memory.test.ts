import { memoryStore } from "percolatordb/memory";
import { storeConformance } from "percolatordb/testing";
import { describe, it } from "vitest";

storeConformance("the memory store", () => memoryStore(), { describe, it, atomicBatches: true });

storeConformance(
  "a memory store of one-row mutations, forward scans and small pages",
  () => memoryStore({ atomicBatches: false, reverseScans: false, pageCells: 7, mutationCells: 600 }),
  { describe, it, atomicBatches: false, seeds: [4] },
);
