/**
 * A process that reads a folder and is then stopped: `endless-reader.ts FOLDER`. It prints
 * `reading` when it reads.
 */
import { writeSync } from "node:fs";
import { openLmdbStore } from "percolatordb/lmdb";

const store = await openLmdbStore(process.argv[2]!);
store.atomic!.counter();
writeSync(1, "reading\n");
// The snapshot is kept for the rest of the turn of the event loop, which never ends.
Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
