import { type Database, open } from "percolatordb";
import { type Connection, locationOf } from "../../cluster/places.js";
import { shop } from "./shop.js";

/** How a process of the proof opens the shop. */
export interface ShopOrders {
  readonly connection: Connection;
  readonly commit: "auto" | "two-phase";
  readonly retentionMs: number;
}

export async function openShop({ connection, commit, retentionMs }: ShopOrders): Promise<Database> {
  // The locks and claims of a killed process are to expire during the run.
  return await open(await locationOf(connection), { ...shop, retentionMs, lockTtlMs: 2_000, commit });
}
