/**
 * A process with a worker on attached orders: `worker-child.ts LOCATION SCHEMA HOST`. It prints
 * `ready`, and works until it is killed.
 */
import { open } from "percolatordb";
import { placeAt } from "../../support/postgres/index.js";
import { Shop, sums } from "./shop.js";

const [location, schema, host] = process.argv.slice(2);
const shop = new Shop(placeAt(host!, "unused"), schema!, true);
const { orders, add } = shop.declare();
const db = await open(`${location}&deadlineMs=60000`, { tables: [orders, sums], observers: [add] });
db.work();
process.stdout.write("ready\n");
