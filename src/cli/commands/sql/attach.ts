import type { Command } from "commander";
import type { AttachedTableStatus } from "../../../postgres/index.js";
import { definition } from "../../../schema/index.js";
import type { Cli } from "../../cli.js";
import { databaseCommand } from "../../command.js";
import { attachedOf, attachedToJson, copyText, loadPostgres, pendingText } from "../../database/attached.js";
import { declaredBy, type OpenedDatabase, withDatabase } from "../../database/open-database.js";
import type { App } from "../../input/module.js";
import { exitCodes } from "../../print/exit.js";
import { counted, layOut, oneLine } from "../../print/layout.js";
import { Progress } from "../../print/progress.js";
import { formatDuration } from "../../time.js";
import { UsageError } from "../../usage-error.js";

interface AttachCommandOptions {
  readonly check?: boolean | undefined;
  readonly copy: boolean;
}

export function addAttach(program: Command, cli: Cli): void {
  databaseCommand(program, "attach", {
    summary: "let observers run on changes of SQL tables, and copy their rows",
    description:
      "Attaches the SQL tables that the module declares with `attach`: registers its tables and observers, installs " +
      "triggers, and copies the rows that exist, in pieces. SQL writers wait for a moment only. If it is interrupted, the " +
      "next call continues the copy, or workers do. Call it again after a migration of an SQL table, for a parked table, " +
      "and after you restored a backup: it compares all rows. The role must own the SQL tables. With --check it changes " +
      "nothing, and says whether each table fits its declaration and its triggers stand, what waits, and what is parked.",
    examples: [
      "attach postgres://app@localhost/shop ./app.ts",
      "attach postgres://app@localhost/shop ./app.ts --no-copy",
      "attach postgres://app@localhost/shop ./app.ts --check --json",
    ],
    json: [
      '{"tables","rows","durationMs"}: "tables" has the attached SQL tables, "rows" counts those that were copied. With',
      '--check {"fits","tables"}; each table {"source","name","attached","parked","problems","pending","oldestPending","oldestPendingAgeMs","copy"}.',
      '"parked" is null or {"since","error"}. "copy" is {"phase","rows","estimatedRows"}, with the phase "copy", "prune" or',
      '"done". At most 100,000 pending changes are counted.',
    ],
    exit: [
      "1 if a table cannot be attached, or with --check if one is parked, not attached, or does not fit.",
    ],
  })
    .argument("<app>", "JavaScript or TypeScript module that default-exports { tables, observers }")
    .option("--check", "change nothing: say how the attached tables are")
    .option("--no-copy", "leave the copy of existing rows to workers")
    .action((location: string, app: string, options: AttachCommandOptions) => {
      const isCheck = options.check === true;
      const request = {
        location,
        app,
        reads: isCheck,
        options: (loaded: App | undefined) => {
          needAttached(app, loaded);
          return isCheck ? {} : declaredBy(loaded);
        },
      };
      return withDatabase(cli, request, (opened) =>
        isCheck ? check(cli, opened) : run(cli, opened, options),
      );
    });
}

/** Throws if the module declares no attached table. */
function needAttached(path: string, app: App | undefined): void {
  if (attachedOf(app).length > 0) return;
  throw new UsageError(
    `The module ${path} declares no SQL table: none of its \`tables\` was made by \`attach\` of percolatordb/postgres.`,
  );
}

async function run(cli: Cli, { db, app }: OpenedDatabase, options: AttachCommandOptions): Promise<void> {
  const { attachTables, attachedTables, copyTables } = await loadPostgres();
  const tables = attachedOf(app);
  const progress = new Progress(cli);
  const before = await attachedTables(db, tables);
  const continued = before.filter((each) => isHalfCopied(each));
  for (const { source, copy } of continued) {
    await cli.note(`continuing the copy of ${source}, ${counted(copy.rows, "row")} copied`);
  }
  const names = new Set(continued.map(({ name }) => name));
  await attachTables(
    db,
    tables.filter((table) => !names.has(table[definition].name)),
    { signal: cli.signal },
  );
  let first: number | undefined;
  const rows = options.copy
    ? await copyTables(db, tables, {
        signal: cli.signal,
        onProgress: ({ source, phase, rows: copied, estimatedRows }) => {
          first ??= copied;
          const rate = progress.rate(Math.max(0, copied - first));
          const share = estimatedRows === undefined ? undefined : copied / estimatedRows;
          const doing = phase === "copy" ? "copied" : "copied, comparing";
          progress.show(
            () => `${source}: ${counted(copied, "row")} ${doing}, ${rate}${progress.left(share)}`,
          );
        },
      }).finally(() => progress.end())
    : 0;
  const attached = (await attachedTables(db, tables)).map(({ source }) => source);
  const durationMs = Math.round(progress.elapsedMs);
  await cli.print({ tables: attached, rows, durationMs }, () => [
    `attached ${attached.join(", ")}`,
    options.copy
      ? `${counted(rows, "row")} copied in ${formatDuration(durationMs)}`
      : "workers copy the rows that exist",
  ]);
}

/** Whether a call that was interrupted has begun to copy a table, and nothing has changed since. */
function isHalfCopied({ isAttached, parked, problems, copy }: AttachedTableStatus): boolean {
  return isAttached && parked === undefined && problems.length === 0 && copy.phase !== "done";
}

async function check(cli: Cli, { db, app }: OpenedDatabase): Promise<void> {
  const { attachedTables } = await loadPostgres();
  const found = await attachedTables(db, attachedOf(app));
  const fits = found.every(({ parked, problems }) => parked === undefined && problems.length === 0);
  if (!fits) cli.exitCode = exitCodes.data;
  await cli.print({ fits, tables: found.map(attachedToJson) }, () => [
    ...layOut(
      [{ name: "SQL table" }, { name: "table" }, { name: "state" }, { name: "copy" }, { name: "changes" }],
      found.map((each) => [each.source, each.name, stateText(each), copyText(each), pendingText(each)]),
    ),
    ...found.flatMap(adviceLines),
  ]);
}

function stateText({ isAttached, parked, problems }: AttachedTableStatus): string {
  if (!isAttached) return "not attached";
  if (parked !== undefined) return "parked";
  return problems.length === 0 ? "attached" : "does not fit";
}

function adviceLines({ source, parked, problems }: AttachedTableStatus): readonly string[] {
  const lines = problems.map((text) => `  ${oneLine(text)}`);
  if (parked !== undefined)
    lines.unshift(`  parked since ${parked.at.toISOString()}: ${oneLine(parked.error)}`);
  if (lines.length === 0) return [];
  return [
    "",
    `${source}:`,
    ...lines,
    "  Correct the SQL table or its declaration, and run `percolator attach` again.",
  ];
}
