import { credentials } from "@grpc/grpc-js";
import { storeConformance } from "percolatordb/testing";
import { afterAll, beforeAll, describe, it } from "vitest";
import { systemEnvironment } from "../../src/environment/index.js";
import { parseLocation } from "../../src/store/bigtable/location.js";
import { BigtableStore } from "../../src/store/bigtable/store.js";
import { Tables } from "../../src/store/bigtable/table/tables.js";
import { Transport } from "../../src/store/bigtable/wire/transport.js";
import { SeededRandom } from "../../src/testing/world/index.js";
import { RegroupingService } from "../support/bigtable/regrouping-service.js";
import { type Emulator, startEmulator } from "../support/emulator/index.js";

let emulator: Emulator;
let service: RegroupingService;
let opened = 0;

beforeAll(async () => {
  emulator = await startEmulator();
  service = await RegroupingService.start(emulator.host, new SeededRandom("1"));
});

afterAll(async () => {
  service[Symbol.dispose]();
  await emulator.stop();
});

/** Opens a store that scans in reverse, as on Cloud Bigtable, where no emulator can. */
function open(): BigtableStore {
  const place = parseLocation(`bigtable://project/instance?prefix=t${++opened}`);
  const network = { address: service.host, credentials: credentials.createInsecure(), connections: 1 };
  const [transport, admin] = [new Transport(network), new Transport(network)];
  const shared = { admin, environment: systemEnvironment, deadlineMs: 10_000, retryForMs: 60_000 };
  const tables = new Tables({ ...shared, location: place, emulator: true, create: true });
  return new BigtableStore({ ...shared, place, transport, tables, gather: true, emulator: false });
}

storeConformance("the Bigtable store on a service that groups its answers", open, {
  describe,
  it,
  atomicBatches: false,
  seeds: [1, 2, 3],
  steps: 100,
});
