import type { Command } from "commander";
import { lookAtAttached } from "../../../dashboard/index.js";
import type { PostgresViewsProgress, PostgresViewsReport } from "../../../postgres/index.js";
import { type AnyTable, definition } from "../../../schema/index.js";
import type { Cli } from "../../cli.js";
import { databaseCommand, listOption } from "../../command.js";
import { attachedOf } from "../../database/attached.js";
import { declaredBy, type OpenedDatabase, withDatabase } from "../../database/open-database.js";
import { layOut } from "../../print/layout.js";
import { Progress } from "../../print/progress.js";
import { UsageError } from "../../usage-error.js";

interface ViewsOptions {
  readonly schema?: string | undefined;
  readonly table?: readonly string[] | undefined;
  readonly name?: readonly string[] | undefined;
  readonly key?: readonly string[] | undefined;
  readonly indexes: boolean;
  readonly removeOthers?: boolean | undefined;
  readonly drop?: boolean | undefined;
  readonly print?: boolean | undefined;
}

export function addViews(program: Command, cli: Cli): void {
  databaseCommand(program, "views", {
    summary: "make SQL views over tables, on PostgreSQL",
    description:
      "Makes a view for each table, and one for each family, in a schema of their own, so that plain SQL, an ORM or a BI " +
      "tool reads them: see docs/postgres-views.md. Repeat it when the tables have changed. With a module, these are the " +
      "module's tables and derived tables. Without one, they are the tables that the database has recorded. Attached tables get " +
      "none. It needs the role that owns the database's tables. It replaces only views that it made itself.",
    examples: [
      "views 'postgres://owner@localhost/shop?schema=search' ./app.ts",
      "views postgres://owner@localhost/shop --table totals --key totals=customer,year",
      "views postgres://owner@localhost/shop --print > views.sql",
      "views postgres://owner@localhost/shop --drop",
    ],
    json: [
      '{"schema","views":[{"name","table","family","state"}],"sql"}. "state" is "created", "changed", "unchanged" or "removed"; "family"',
      'is null for the view of a table\'s columns; "sql" has the statements.',
    ],
  })
    .argument("[module]", "module that default-exports { tables, observers }")
    .option("--schema <name>", "schema of the views (default: the database's, and _views)")
    .option("--table <name>", "only this table; may be repeated", listOption)
    .option("--name <table=view>", "name of the view of a TABLE or TABLE.FAMILY; may be repeated", listOption)
    .option(
      "--key <table=columns>",
      "names of the key's columns, separated by commas; may be repeated",
      listOption,
    )
    .option("--no-indexes", "make no indexes for conditions on keys")
    .option("--remove-others", "remove views of this database that are not among these")
    .option("--drop", "remove all views of this database from the schema")
    .option("--print", "print the statements without running them")
    .action((location: string, app: string | undefined, options: ViewsOptions) => {
      const print = options.print === true;
      const opening = print ? undefined : declaredBy;
      return withDatabase(cli, { location, app, options: opening }, async (opened) => {
        const report = await makeViews(cli, opened, options);
        if (print && !cli.json) await cli.print({}, () => report.sql.trimEnd().split("\n"));
        else await printReport(cli, report);
      });
    });
}

async function makeViews(
  cli: Cli,
  opened: OpenedDatabase,
  options: ViewsOptions,
): Promise<PostgresViewsReport> {
  const { dropPostgresViews, postgresViews } = await import("../../../postgres/index.js");
  const { schema, indexes, removeOthers, print: dryRun } = options;
  const { signal } = cli;
  const progress = new Progress(cli);
  let waitedFor: string | undefined;
  const onProgress = ({ index, of, share, waitsFor }: PostgresViewsProgress) => {
    progress.show(() => `index ${index} of ${of}${progress.left(share)}`);
    if (waitsFor === waitedFor) return;
    waitedFor = waitsFor;
    if (waitsFor === undefined) return;
    progress.end();
    void cli.note(`index ${index} of ${of} waits for the transaction of server process ${waitsFor} to end`);
  };
  if (options.drop === true) return await dropPostgresViews(opened.db, { schema, dryRun, signal });
  return await postgresViews(opened.db, await chosen(opened, options.table), {
    schema,
    indexes,
    removeOthers,
    dryRun,
    signal,
    onProgress,
    views: pairs("--name", options.name),
    keys: Object.fromEntries(
      Object.entries(pairs("--key", options.key)).map(([table, names]) => [table, names.split(",")]),
    ),
  }).finally(() => progress.end());
}

async function chosen(
  opened: OpenedDatabase,
  given: readonly string[] | undefined,
): Promise<readonly AnyTable[]> {
  const { names, table, app } = opened;
  if (given === undefined) {
    const hidden = await hiddenNames(opened);
    const all = app?.tables ?? names.map((name) => table(name)!);
    return all.filter((each) => !hidden.has(each[definition].name));
  }
  return given.map((name) => {
    const found = table(name);
    if (found !== undefined) return found;
    throw new UsageError(`There is no table ${name}. The tables: ${names.join(", ") || "none"}.`);
  });
}

/** Attached tables, which need no view, and tables in which derivations keep what only they understand. */
async function hiddenNames({ db, app }: OpenedDatabase): Promise<ReadonlySet<string>> {
  const attached = [
    ...attachedOf(app).map((each) => each[definition].name),
    ...(await lookAtAttached(db, 0)).tables.map(({ name }) => name),
  ];
  const derivations = app?.derivations ?? [];
  const inner = derivations.flatMap(({ name, tables }) =>
    tables.map((each) => each[definition].name).filter((each) => each !== name),
  );
  return new Set([...attached, ...inner]);
}

function pairs(option: string, given: readonly string[] = []): Readonly<Record<string, string>> {
  return Object.fromEntries(
    given.map((text) => {
      const at = text.indexOf("=");
      if (at > 0) return [text.slice(0, at), text.slice(at + 1)] as const;
      throw new UsageError(`${option} takes NAME=VALUE, not ${JSON.stringify(text)}.`);
    }),
  );
}

async function printReport(cli: Cli, { schema, views, sql }: PostgresViewsReport): Promise<void> {
  if (!cli.json && views.length === 0) return await cli.note(`no views in the schema ${schema}`);
  const listed = views.map((view) => ({ ...view, family: view.family ?? null }));
  await cli.print({ schema, views: listed, sql }, () =>
    layOut(
      [{ name: "view" }, { name: "shows" }, { name: "state" }],
      views.map(({ name, table, family, state }) => [
        `${schema}.${name}`,
        family === undefined ? table : `${table}.${family}`,
        state,
      ]),
    ),
  );
}
