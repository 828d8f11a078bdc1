/** A process with a worker on the folder that it is given. It ends when its input does, or when its observer ends it. */
import { open } from "percolatordb";
import { killer } from "./killer-app.js";

const db = await open(process.argv[2]!, { observers: [killer] });
const worker = db.work();
for await (const _ of process.stdin);
await worker.stop();
await db.close();
