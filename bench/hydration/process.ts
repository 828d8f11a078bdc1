/**
 * The measured processes of `npm run hydration`. The first argument is the side, the second the
 * database's folder. A process prints what it found as JSON on its last line.
 */
import { readFileSync } from "node:fs";
import { open } from "percolatordb";
import type { Started } from "./figure.js";
import { customers, orders, totalsOf } from "./tables.js";
import { countWrong, rebuild } from "./twin.js";

const [side, folder, began] = process.argv.slice(2) as [string, string, string];
const sampleMs = 20;

/** Anonymous memory in bytes, from Linux. Undefined on other systems. */
function anonymousBytes(): number | undefined {
  try {
    const found = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync("/proc/self/status", "latin1"));
    return found === null ? undefined : Number(found[1]) * 1_024;
  } catch {
    return undefined;
  }
}

let peak = anonymousBytes();
const look = () => {
  const now = anonymousBytes();
  if (now !== undefined) peak = Math.max(now, peak ?? 0);
};
const sampling = setInterval(look, sampleMs);

/** What this process has used since its start. */
function sinceStart(): Started["first"] {
  look();
  const { user, system } = process.cpuUsage();
  return { ms: Date.now() - Number(began), cpuMs: (user + system) / 1_000, anonymous: peak };
}

/** Opens the database and works until the first derived commit, or until nothing waits. */
async function incremental(isWhole: boolean): Promise<Started> {
  let first: Started["first"] | undefined;
  let commits = 0;
  const { promise: committed, resolve } = withResolver();
  const totals = totalsOf(() => {
    commits++;
    first ??= sinceStart();
    resolve();
  });
  const db = await open(folder, { tables: [orders, customers], observers: [totals], collectEveryMs: 0 });
  const opened = sinceStart();
  const worker = db.work();
  await committed;
  if (isWhole) await db.idle();
  await worker.stop();
  await db.close();
  return { opened, first: first!, all: sinceStart(), handled: commits };
}

function withResolver(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = () => {};
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

/** Rebuilds the derived table in a map, as an engine with its state in memory. */
async function inMemory(compares: boolean): Promise<Started> {
  const db = await open(folder, { tables: [orders, customers], readOnly: true });
  const opened = sinceStart();
  const snapshot = await db.snapshot();
  const twin = await rebuild(snapshot);
  const first = sinceStart();
  const wrong = compares ? await countWrong(snapshot, twin) : undefined;
  snapshot.close();
  await db.close();
  return { opened, first, all: sinceStart(), handled: twin.rows, wrong };
}

const isIncremental = side === "first" || side === "drain";
const found = isIncremental ? await incremental(side === "drain") : await inMemory(side === "compare");
clearInterval(sampling);
process.stdout.write(`${JSON.stringify(found)}\n`);
