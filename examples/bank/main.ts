/**
 * Three scenes: a transfer step by step, many at once under audit, and write skew with its
 * solution. With `--serve`, the audit as a page that updates itself. See README.md.
 */
import { setTimeout } from "node:timers/promises";
import { type Database, open } from "percolatordb";
import { commandOf, whole } from "../support/command.js";
import { type AuditReport, audit, auditBank } from "./audit.js";
import { drawTogether } from "./household.js";
import { makeTransfers, openAccounts } from "./load.js";
import { serveBank } from "./serve.js";
import { showSteps } from "./steps.js";
import { tables } from "./tables.js";

const load = { accounts: 50, transfers: 2_000, clients: 64, name: new Date().toISOString() };
const auditEveryMs = 250;
const payEveryMs = 200;

const { serves, location, port } = readArguments();
if (serves) await serve();
else await showScenes();

function readArguments() {
  const command = commandOf(
    "bank",
    "Shows why isolation matters, scene by scene, on a bank whose audit is derived.",
  )
    .argument("[location]", "where the bank is: a folder, or memory:", "memory:")
    .option("--serve", "serve the audit as a page that updates itself, until Ctrl-C", false)
    .option("--port <number>", "port of the page; 0 takes a free one", whole(0, 65_535), 8080)
    .parse();
  const { serve: serves, port } = command.opts<{ serve: boolean; port: number }>();
  return { serves, location: command.processedArgs[0] as string, port };
}

/** Shows the audit of a bank, in which somebody pays somebody else now and then. */
async function serve(): Promise<void> {
  const ending = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => ending.abort());
  await using db = await open(location, { tables, observers: [audit] });
  await using _ = db.work();
  await openAccounts(db, load.accounts);
  await using server = await serveBank(db, { port, account: "account 0" });
  console.log(`The audit is at ${server.url}\nA transfer is made every ${payEveryMs} ms, until Ctrl-C.`);
  while (!ending.signal.aborted) {
    const name = new Date().toISOString();
    await makeTransfers(db, { accounts: load.accounts, transfers: 1, clients: 1, name });
    await setTimeout(payEveryMs, undefined, { signal: ending.signal }).catch(() => undefined);
  }
}

async function showScenes(): Promise<void> {
  console.log("1. Bob pays Joe $7, step by step\n");
  await showSteps(console.log);

  console.log(
    `2. ${load.transfers} transfers between ${load.accounts} accounts, ${load.clients} at a time, under audit\n`,
  );
  await runBank(location);

  console.log("\n3. Ann and Ben hold $100 each, and draw $150 each at the same time\n");
  for (const isolation of ["snapshot", "serializable"] as const) {
    const { paid, total, problems } = await drawTogether(isolation);
    console.log(`${isolation}: ${paid} of 2 were paid, and together they now hold $${total}`);
    for (const problem of problems) console.log(`  audit: ${problem}`);
  }
}

async function runBank(location: string): Promise<void> {
  await using db = await open(location, { tables, observers: [audit] });
  await using worker = db.work();
  await openAccounts(db, load.accounts);
  let isLoading = true;
  const auditing = (async () => {
    for (; isLoading; await setTimeout(auditEveryMs)) console.log(auditLine(await auditNow(db)));
  })();
  const started = performance.now();
  const { done, refused } = await makeTransfers(db, load);
  const seconds = (performance.now() - started) / 1_000;
  isLoading = false;
  await auditing;
  await worker.idle();
  const report = await auditNow(db);
  console.log(auditLine(report));
  const { conflicts } = db.metrics;
  console.log(
    `${done} made, ${refused} refused in ${seconds.toFixed(1)} s; ${conflicts} conflicts, each run again.`,
  );
  for (const problem of report.problems) console.error(problem);
  if (report.problems.length > 0 || report.waiting > 0) process.exitCode = 1;
}

/** Works at any moment, because the audit reads everything from one snapshot. */
async function auditNow(db: Database): Promise<AuditReport> {
  await using view = await db.snapshot();
  return await auditBank(view);
}

function auditLine({ transfers, waiting, sum, problems }: AuditReport): string {
  const exact = problems.length === 0 ? "every account exact" : `${problems.length} PROBLEMS`;
  return `audit: ${String(transfers).padStart(5)} transfers, ${String(waiting).padStart(4)} not yet in the trail, sum ${sum}, ${exact}`;
}
