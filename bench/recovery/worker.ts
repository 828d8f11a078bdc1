/** A worker of this measurement: `worker.ts LOCATION CONCURRENCY WORK`. Says now and then how many runs it has committed. */
import { open } from "percolatordb";
import { appOf } from "./app.js";

const [location, concurrency, work] = [process.argv[2]!, Number(process.argv[3]), Number(process.argv[4])];
const db = await open(location, { ...appOf(work), collectEveryMs: 0 });
let committed = 0;
db.on("run", ({ outcome }) => {
  if (outcome === "committed") committed++;
});
const worker = db.work({ concurrency });
const tell = () => process.stdout.write(`${committed}\n`);
const telling = setInterval(tell, 100);
process.once("SIGTERM", async () => {
  await worker.stop();
  clearInterval(telling);
  tell();
  await db.close();
});
