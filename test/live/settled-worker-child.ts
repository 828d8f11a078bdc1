/**
 * A process with a worker on the given folder. It prints when it is ready, and ends when its input
 * ends.
 */
import { open } from "percolatordb";
import { slowChain } from "../support/settling.js";

const db = await open(process.argv[2]!, { observers: slowChain });
const worker = db.work({ concurrency: 4 });
process.stdout.write("ready\n");
for await (const _ of process.stdin);
await worker.stop();
await db.close();
