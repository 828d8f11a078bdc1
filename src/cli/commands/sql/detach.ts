import { statSync } from "node:fs";
import { resolve } from "node:path";
import type { Command } from "commander";
import type { AnyTable } from "../../../schema/index.js";
import type { Cli } from "../../cli.js";
import { databaseCommand } from "../../command.js";
import { attachedOf, loadPostgres } from "../../database/attached.js";
import { withDatabase } from "../../database/open-database.js";
import { UsageError } from "../../usage-error.js";

export function addDetach(program: Command, cli: Cli): void {
  databaseCommand(program, "detach", {
    summary: "stop following SQL tables",
    description:
      "Removes the triggers of an SQL table, or of all that a module declares, and their pending changes. The rows that " +
      "were copied stay here, and observers see no more changes. The role must own the SQL tables.",
    examples: [
      "detach postgres://app@localhost/shop public.orders",
      "detach postgres://app@localhost/shop ./app.ts",
    ],
    json: ['{"detached"}: the SQL tables that were attached before.'],
    exit: ["1 if the SQL table is not attached."],
  })
    .argument(
      "<table or app>",
      "an SQL table with its schema, such as public.orders, or a module that declares some",
    )
    .action((location: string, what: string) => {
      const isModule = statSync(resolve(cli.io.cwd, what), { throwIfNoEntry: false })?.isFile() === true;
      const request = { location, app: isModule ? what : undefined };
      return withDatabase(cli, request, async ({ db, app }) => {
        const { attachedTables, detachTable } = await loadPostgres();
        const tables: readonly (AnyTable | string)[] = isModule ? attachedOf(app) : [what];
        if (tables.length === 0) {
          throw new UsageError(`The module ${what} declares no SQL table with \`attach\`.`);
        }
        const before = await attachedTables(db);
        for (const table of tables) await detachTable(db, table, { signal: cli.signal });
        const left = new Set((await attachedTables(db)).map(({ source }) => source));
        const detached = before.map(({ source }) => source).filter((source) => !left.has(source));
        await cli.print({ detached }, () => [
          detached.length === 0 ? "nothing was attached" : `detached ${detached.join(", ")}`,
        ]);
      });
    });
}
