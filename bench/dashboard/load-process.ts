/** What `main.ts` looks at: a pipeline under load, and its dashboard, whose address is printed; until SIGTERM. */
import { once } from "node:events";
import { serveDashboard } from "percolatordb/dashboard";
import { Load } from "./load.js";

const [rate = "1000", pages] = process.argv.slice(2);
const load = await Load.start(Number(rate));
const dashboard = await serveDashboard(load.db, { location: "memory:", pages });
process.stdout.write(`${dashboard.url}\n`);
await once(process, "SIGTERM");
await dashboard.close();
await load.stop();
