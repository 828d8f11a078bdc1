/**
 * A process with a worker on the given folder. It ends when its input ends, or when its observer
 * ends it.
 */
import { open } from "percolatordb";
import { killer } from "./killer-app.js";

const db = await open(process.argv[2]!, { observers: [killer] });
const worker = db.work();
for await (const _ of process.stdin);
await worker.stop();
await db.close();
