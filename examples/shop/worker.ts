/** A process that runs the shop's observers until it gets SIGTERM: `worker.ts LOCATION`. */
import { once } from "node:events";
import { open } from "percolatordb";
import { shopApp } from "./observers.js";
import { connect, tellPurchasing } from "./sql.js";

const location = process.argv[2]!;
const pool = connect(location, 1);
{
  await using db = await open(location, shopApp(tellPurchasing(pool)));
  db.on("backgroundFailure", ({ error }) => console.error(`Worker ${process.pid}: ${String(error)}`));
  await using _worker = db.work();
  // The parent's end closes the pipe, so that no worker is left over.
  process.stdin.resume();
  await Promise.race([once(process, "SIGTERM"), once(process.stdin, "end")]);
}
process.stdin.destroy();
await pool.end();
