import { type Database, open } from "percolatordb";
import { openBigtableStore } from "percolatordb/bigtable";
import type { Connection } from "../../histories/child-orders.js";
import { shop } from "./shop.js";

/** How a process of the proof opens the shop. */
export interface ShopOrders {
  readonly connection: Connection;
  readonly commit: "auto" | "two-phase";
  readonly retentionMs: number;
}

export async function openShop({ connection, commit, retentionMs }: ShopOrders): Promise<Database> {
  const { location, emulatorHost } = connection;
  // The locks and claims of a killed process are to expire during the run.
  const options = { ...shop, retentionMs, lockTtlMs: 2_000 };
  if (emulatorHost === undefined) return await open(location, { ...options, commit });
  return await open(await openBigtableStore(location, { emulatorHost }), options);
}
