import { openBigtableStore } from "../../../src/store/bigtable/open.js";
import type { BigtableStoreOptions } from "../../../src/store/bigtable/options.js";
import type { RowStore } from "../../../src/store/row-store.js";
import { type Handler, TestService } from "./service.js";

const ended: (() => Promise<void>)[] = [];

/** Closes everything that the test opened. Call it after each test. */
export async function endAll(): Promise<void> {
  for (const end of ended.splice(0)) await end();
}

/** Opens a store on a service whose answers the test decides. */
export async function openOn(
  handlers: Record<string, Handler>,
  options: BigtableStoreOptions = {},
  place = "bigtable://p/i",
): Promise<{ service: TestService; store: RowStore }> {
  const service = await TestService.start(handlers);
  const store = await openBigtableStore(place, { emulatorHost: service.host, gather: false, ...options });
  ended.push(async () => {
    service[Symbol.dispose]();
    await store.close();
  });
  return { service, store };
}

export const column = Buffer.from("c");
export const read = { table: "t", row: Buffer.from("r"), columns: [{ exact: column }], at: 9 };
export const text = (bytes: Uint8Array | undefined) => bytes && Buffer.from(bytes).toString("latin1");
