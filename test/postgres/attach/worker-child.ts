/**
 * A process with a worker on attached orders: `worker-child.ts LOCATION SCHEMA HOST [only-moves]`. It
 * prints `ready`, and works until it is killed. With `only-moves`, it runs no observer.
 */
import { open } from "percolatordb";
import { placeAt } from "../../support/postgres/index.js";
import { Shop, sums } from "./shop.js";

const [location, schema, host, mode] = process.argv.slice(2);
const shop = new Shop(placeAt(host!, "unused"), schema!, true);
const { orders, add } = shop.declare();
const db = await open(`${location}&deadlineMs=60000`, {
  tables: [orders, sums],
  observers: mode === "only-moves" ? [] : [add],
});
db.work();
process.stdout.write("ready\n");
