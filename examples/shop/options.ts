import { InvalidArgumentError } from "commander";
import { commandOf, whole } from "../support/command.js";

export interface Options {
  readonly data: string | undefined;
  readonly orders: number;
  /** Seconds. */
  readonly storm: number;
  readonly verify: boolean;
  readonly serve: boolean;
  readonly port: number;
}

/** The command line, before it has read any arguments. */
export const command = commandOf(
  "shop",
  "Attaches the tables of a shop in PostgreSQL, and keeps totals, stock and a search up to date.",
)
  .option(
    "--data <location>",
    "the database with the shop, such as postgres://USER@HOST/DATABASE. Its tables are made in the schema " +
      '"shop" if they do not exist (default: a PostgreSQL server of this program, removed at the end)',
    location,
  )
  .option("--orders <number>", "how many orders a new shop has", whole(1, 10_000_000), 100_000)
  .option("--storm <seconds>", "for how long writes by SQL go on at random", whole(0, 86_400), 0)
  .option("--verify", "compare every derived table with a recomputation in SQL", false)
  .option("--serve", "serve totals, search and the dashboard until Ctrl-C", false)
  .option("--port <number>", "port of --serve; 0 takes a free one", whole(0, 65_535), 8090)
  .addHelpText("after", "\nThe exit code is 1 if a derived table differs, and 2 for wrong usage.");

/** Reads the command line. */
export function readOptions(args: readonly string[]): Options {
  return command.parse([...args], { from: "user" }).opts<Options>();
}

function location(given: string): string {
  if (/^postgres(ql)?:\/\//.test(given)) return given;
  throw new InvalidArgumentError(
    "It must be a location on PostgreSQL, such as postgres://USER@HOST/DATABASE.",
  );
}
