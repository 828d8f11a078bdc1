import type { Command } from "commander";
import { isPostgres, openStore } from "../../../database/index.js";
import { parkedTable } from "../../../observer/index.js";
import { oracleTable } from "../../../oracle/index.js";
import { definition } from "../../../schema/index.js";
import { hintTable, systemTable } from "../../../transaction/index.js";
import type { Cli } from "../../cli.js";
import { addAppOption, type DatabaseOptions, databaseCommand } from "../../command.js";
import { type Need, needsOf } from "../../database/needs.js";
import { placeOf } from "../../database/open-database.js";
import { loadApp } from "../../input/module.js";

interface InitOptions extends DatabaseOptions {
  readonly dryRun?: boolean | undefined;
}

export function addInit(program: Command, cli: Cli): void {
  const command = databaseCommand(program, "init", {
    summary: "create the tables or the folder of a database",
    description:
      "Creates what is missing. On PostgreSQL: the schema with its tables and functions. On Bigtable: the tables, each " +
      "with the families that the protocol needs and no garbage collection rule. Otherwise: the folder. It adds missing families to existing tables. " +
      "On PostgreSQL it also upgrades tables and functions of an older version, if the account owns them, and refuses " +
      "those of a newer version. It changes nothing else: the tables and observers of the module are recorded by the first " +
      "worker, program or other command with --app that opens the database to write. " +
      "It needs an account that may create tables; afterwards one that may read and write them is enough. You can " +
      "repeat it safely.",
    examples: [
      "init ./data",
      "init 'postgres://owner@localhost/shop?schema=search'",
      "init bigtable://my-project/my-instance --app ./app.ts",
      "init 'bigtable://my-project/my-instance?prefix=test' --dry-run --json",
    ],
    json: [
      '{"location","dryRun","needs":[{"name","path","state":"there"|"missing"|"incomplete"}]}, with the states before the command',
    ],
  }).option("--dry-run", "only print what would be created");
  addAppOption(command).action((location: string, options: InitOptions) => init(cli, location, options));
}

async function init(cli: Cli, location: string, { app: module, dryRun = false }: InitOptions): Promise<void> {
  const place = placeOf(location, cli.io.cwd);
  const app = module === undefined ? undefined : await loadApp(module, cli.io.cwd, cli.signal);
  const tables = [
    systemTable,
    hintTable,
    parkedTable,
    oracleTable,
    ...(app?.tables ?? []).map((table) => table[definition].name),
  ];
  const needs = await needsOf(place, tables, cli.environment);
  if (!dryRun) {
    const store = await openStore(place, { create: true }, cli.environment);
    try {
      await store.prepare(tables);
    } finally {
      await store.close();
    }
  }
  await cli.print({ location: isPostgres(place) ? needs[0]!.path : place, dryRun, needs }, () =>
    needs.map((need) => show(need, dryRun)),
  );
}

function show({ name, path, state }: Need, dryRun: boolean): string {
  if (state === "there") return `${name} exists (${path})`;
  const did = state === "missing" ? "created" : "completed";
  return `${dryRun ? `would be ${did}` : did}: ${name} (${path})`;
}
