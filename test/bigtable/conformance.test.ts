import { openBigtableStore } from "percolatordb/bigtable";
import { storeConformance } from "percolatordb/testing";
import { afterAll, beforeAll, describe, it } from "vitest";
import { type Emulator, startEmulator } from "../support/emulator/index.js";

let emulator: Emulator;
let opened = 0;

beforeAll(async () => {
  emulator = await startEmulator();
});
afterAll(() => emulator.stop());

for (const gather of [true, false]) {
  const name = gather ? "the Bigtable store" : "the Bigtable store without gathering";
  const open = () =>
    openBigtableStore(`bigtable://project/instance?prefix=t${++opened}`, {
      emulatorHost: emulator.host,
      gather,
    });
  storeConformance(name, open, {
    describe,
    it,
    atomicBatches: false,
    seeds: gather ? [1, 2, 3] : [4],
    steps: 100,
  });
}
