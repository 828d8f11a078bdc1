/**
 * A process that runs random transactions on a shared database and records them:
 * `history-child.ts PLACE SEED NUMBER`. The place is a location on PostgreSQL, or the address of
 * Bigtable's emulator. It prints `ready`. For `go` it runs them and prints
 * `done`. For `audit` it prints its history as a line of JSON, and ends.
 */
import { createInterface } from "node:readline";
import { open } from "percolatordb";
import { openBigtableStore } from "percolatordb/bigtable";
import { HistoryRecorder } from "percolatordb/testing";
import { bigtableLocation } from "../support/databases.js";
import { Random } from "./random.js";
import { things, Workload } from "./workload.js";

const [place, seed, number] = [process.argv[2]!, Number(process.argv[3]), Number(process.argv[4])];
const say = (line: string) => process.stdout.write(`${line}\n`);
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

// The system's monotonic clock, which all processes of the machine share.
const recorder = new HistoryRecorder({ moment: () => Number(process.hrtime.bigint()) });
const isPostgres = place.startsWith("postgres:");
const store = isPostgres ? place : await openBigtableStore(bigtableLocation, { emulatorHost: place });
const db = await open(store, { tables: [things], collectEveryMs: 0 });
say("ready");
await lines.next();
const options = { clients: 8, transactions: 10, rows: 12, above: number * 1_000_000 };
await new Workload(recorder, db, new Random(seed * 10 + number), options).run();
say("done");
await lines.next();
await recorder.audit(db);
say(JSON.stringify(recorder.history()));
await db.close();
process.exit(0);
