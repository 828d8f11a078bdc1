/**
 * A process with a worker on a database on PostgreSQL: `worker-child.ts LOCATION`. It prints
 * `ready`, and works until it is killed.
 */
import { open } from "percolatordb";
import { count, counted } from "./counted.js";

const db = await open(process.argv[2]!, { tables: [counted], observers: [count], collectEveryMs: 0 });
db.work();
process.stdout.write("ready\n");
