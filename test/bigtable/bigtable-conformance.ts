import { openBigtableStore } from "percolatordb/bigtable";
import { storeConformance } from "percolatordb/testing";
import { afterAll, beforeAll, describe, it } from "vitest";
import { type Emulator, startEmulator } from "../support/emulator/index.js";

/**
 * The conformance suite on Google's emulator. The requests of one tick are either batched or sent
 * separately.
 */
export function bigtableConformance({ gather, seeds }: { gather: boolean; seeds: readonly number[] }): void {
  let emulator: Emulator;
  let opened = 0;
  beforeAll(async () => {
    emulator = await startEmulator();
  });
  afterAll(() => emulator.stop());
  const open = () =>
    openBigtableStore(`bigtable://project/instance?prefix=t${++opened}`, {
      emulatorHost: emulator.host,
      gather,
    });
  const name = gather ? "the Bigtable store" : "the Bigtable store without gathering";
  storeConformance(name, open, { describe, it, atomicBatches: false, seeds, steps: 100 });
}
