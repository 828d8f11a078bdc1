import type { Command } from "commander";
import type { Backlog } from "../../../dashboard/index.js";
import type { Database } from "../../../database/index.js";
import { ObserverError } from "../../../errors/index.js";
import type { ObserverRecord } from "../../../observer/index.js";
import type { Cli } from "../../cli.js";
import { databaseCommand } from "../../command.js";
import { countParked, countPending, showCount } from "../../database/backlog.js";
import { withDatabase } from "../../database/open-database.js";
import { addCoordinatorFlags, type CoordinatorFlags } from "../../input/coordinator-flags.js";
import { exitCodes } from "../../print/exit.js";
import { counted } from "../../print/layout.js";
import { Progress } from "../../print/progress.js";
import { formatDuration } from "../../time.js";
import { UsageError } from "../../usage-error.js";

interface UnregisterCommandOptions extends CoordinatorFlags {
  readonly yes?: boolean | undefined;
}

export function addUnregister(program: Command, cli: Cli): void {
  const command = databaseCommand(program, "unregister", {
    summary: "forget an observer that no program runs any more",
    description:
      "Takes an observer out of what the database records, with its due and its parked changes. What it has derived stays. " +
      "Without --yes it only shows what it would forget. It refuses while a live process runs the observer: stop those " +
      "workers, or deploy a program without it. A process that was killed counts as live for up to 15 s. A worker that " +
      "starts meanwhile with the observer in its module registers it again, as a new one. If the command is interrupted, " +
      "run it again: it continues.",
    examples: [
      "unregister ./data cluster",
      "unregister ./data cluster --yes",
      "unregister ./data cluster --yes --json",
    ],
    json: [
      '{"observer","table","column","version","pending","parked","unregistered","removed","durationMs"}. "pending" and',
      '"parked" are {"count","more"}: at most 100,000 are counted. "removed" counts its records: hints, acknowledgments and',
      "parked changes. If the command continues an interrupted one, the fields from table to parked are null.",
    ],
    exit: ["1 without --yes: nothing was changed;", "1 if a live process runs the observer (OBSERVER)."],
  });
  addCoordinatorFlags(command)
    .argument("<observer>", "name of the observer")
    .option("--yes", "unregister it; without this, the command only shows what it would forget")
    .action((location: string, name: string, options: UnregisterCommandOptions) =>
      withDatabase(cli, { location, reads: options.yes !== true, coordinator: options }, ({ db }) =>
        unregister(cli, db, name, options.yes === true),
      ),
    );
}

interface Plan {
  readonly record: ObserverRecord;
  readonly pending: Backlog;
  readonly parked: Backlog;
}

async function unregister(cli: Cli, db: Database, name: string, isAgreed: boolean): Promise<void> {
  const plan = await planOf(cli, db, name);
  if (plan === undefined && !isAgreed) {
    const known = [...(await db.observers()).keys()].join(", ") || "none";
    throw new UsageError(
      `No observer named ${JSON.stringify(name)} is registered. Registered: ${known}. To continue an interrupted unregister, give --yes.`,
      "OBSERVER",
    );
  }
  if (plan !== undefined) await checkNotRun(db, name);
  if (!isAgreed) {
    await report(cli, name, plan, undefined);
    cli.exitCode = exitCodes.data;
    return;
  }
  const progress = new Progress(cli);
  let removed = 0;
  await db
    .unregister(name, {
      signal: cli.signal,
      onProgress: (done) => {
        removed = done.removed;
        progress.show(() => `${counted(removed, "record")} removed, ${progress.rate(removed)}`);
      },
    })
    .catch((error) => {
      // No interrupted call of this name is left to continue either.
      const isUnknown = plan === undefined && error instanceof ObserverError;
      throw isUnknown ? new UsageError(error.message, error.code, error) : error;
    })
    .finally(() => progress.end());
  await report(cli, name, plan, { removed, durationMs: Math.round(progress.elapsedMs) });
}

/** Returns undefined if the observer is not registered. It may be half unregistered. */
async function planOf(cli: Cli, db: Database, name: string): Promise<Plan | undefined> {
  const record = (await db.observers()).get(name);
  if (record === undefined) return undefined;
  const pending = await countPending(db, name, cli.signal);
  return { record, pending, parked: await countParked(db, name, cli.signal) };
}

async function checkNotRun(db: Database, name: string): Promise<void> {
  const { sessions } = await db.status();
  const running = [...sessions].filter(([, { observers }]) => observers[name] !== undefined);
  if (running.length === 0) return;
  const names = running.map(([session, record]) => record.process ?? session).join(", ");
  throw new ObserverError(
    `Observer "${name}" was not unregistered, because live processes run it: ${names}. Stop these workers, or deploy a ` +
      "program without it, and try again.",
  );
}

async function report(
  cli: Cli,
  name: string,
  plan: Plan | undefined,
  done: { readonly removed: number; readonly durationMs: number } | undefined,
): Promise<void> {
  const count = ({ count, more }: Backlog) => ({ count, more });
  const document = {
    observer: name,
    table: plan?.record.table ?? null,
    column: plan?.record.column ?? null,
    version: plan?.record.version ?? null,
    pending: plan === undefined ? null : count(plan.pending),
    parked: plan === undefined ? null : count(plan.parked),
    unregistered: done !== undefined,
    removed: done?.removed ?? 0,
    durationMs: done?.durationMs ?? 0,
  };
  await cli.print(document, () => [
    ...(plan === undefined ? [] : [planLine(name, plan)]),
    done === undefined
      ? "nothing was changed; to unregister it, give --yes"
      : `unregistered: ${counted(done.removed, "record")} removed in ${formatDuration(done.durationMs)}`,
  ]);
}

function planLine(name: string, { record, pending, parked }: Plan): string {
  const { table, column, version } = record;
  return `observer ${name} of ${table}.${column}, version ${version}: ${showCount(pending)} due and ${showCount(parked)} parked changes are forgotten`;
}
