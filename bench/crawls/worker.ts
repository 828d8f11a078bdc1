/** A worker of the web index: `worker.ts LOCATION CONCURRENCY`. Answers each message with what it has counted so far. */
import { open } from "percolatordb";
import { openBigtableStore } from "percolatordb/bigtable";
import { observers } from "../../examples/webindex/observers/index.js";
import { tables } from "../../examples/webindex/tables.js";
import { endWithParent } from "../../test/support/end-with-parent.js";
import { countRequests } from "./counts.js";

endWithParent();

const [location, concurrency] = [process.argv[2]!, Number(process.argv[3])];
const store = await openBigtableStore(location);
const db = await open(store, { tables, observers });
const worker = db.work({ concurrency });
const tell = async () => process.send?.(await countRequests(db));
process.on("message", () => void tell());
process.once("SIGTERM", async () => {
  await worker.stop();
  await db.close();
  process.disconnect?.();
});
await tell();
