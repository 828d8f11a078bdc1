import type { Command } from "commander";
import { messageOf } from "../../../errors/index.js";
import type { DerivedDifference } from "../../../recipes/index.js";
import { type Json, valueToJson } from "../../../schema/index.js";
import type { Problem } from "../../../transaction/index.js";
import type { Cli } from "../../cli.js";
import { addAppOption, type DatabaseOptions, databaseCommand } from "../../command.js";
import { type OpenedDatabase, withDatabase } from "../../database/open-database.js";
import { exitCodes } from "../../print/exit.js";
import { counted, oneLine } from "../../print/layout.js";
import { Progress } from "../../print/progress.js";
import { UsageError } from "../../usage-error.js";

interface CheckCommandOptions extends DatabaseOptions {
  readonly derived?: boolean | undefined;
}

/** Most rows that one check of derived tables lists. */
const maxListed = 1_000;

export function addCheck(program: Command, cli: Cli): void {
  const command = databaseCommand(program, "check", {
    summary: "check every invariant of the protocol in the database",
    description:
      "First reads every page of a folder's file and the checksum of every record, and stops if one is wrong. Then " +
      "reads every cell and checks the invariants: locks, write records, statuses and values agree, and every change " +
      "that an observer has not handled has a hint. The database may be in use. With --derived, it instead derives " +
      "the derivations of the module again from their sources, in one snapshot, and lists the rows that differ or cannot be " +
      "derived. Changes nothing.",
    examples: ["check ./data", "check ./data --json", "check ./data --derived --app ./app.ts"],
    json: [
      '{"sound","problems"}; each problem {"invariant","where","message"}. At most 1,000 are listed. With --derived',
      'the invariant is "derived", and a problem also has "expected" and "actual", rows by column or null.',
    ],
    exit: ["1 if there are problems."],
  });
  addAppOption(command)
    .option("--derived", "compare the derived tables of the module with their sources; needs --app")
    .action((location: string, options: CheckCommandOptions) => {
      if (options.derived === true && options.app === undefined) {
        throw new UsageError("Give the module that declares the derivations with --app MODULE.");
      }
      return withDatabase(cli, { reads: true, location, app: options.app }, async (opened) => {
        const problems = await (options.derived === true ? checkDerived(cli, opened) : check(cli, opened));
        const sound = problems.length === 0;
        if (!sound) cli.exitCode = exitCodes.data;
        await cli.print({ sound, problems }, () => [
          ...problems.map(({ invariant, where, message }) => `${invariant}: ${oneLine(where)}: ${message}`),
          sound ? "no problems" : counted(problems.length, "problem"),
        ]);
      });
    });
}

async function check(cli: Cli, { db }: OpenedDatabase): Promise<readonly Problem[]> {
  const progress = new Progress(cli);
  return await db
    .check({
      signal: cli.signal,
      onProgress: (cells) =>
        progress.show(() => `${counted(cells, "cell")} checked, ${progress.rate(cells)}`),
    })
    .finally(() => progress.end());
}

/** A row of a derived table that differs from what its sources say. */
interface DerivedProblem extends Omit<Problem, "invariant"> {
  readonly invariant: "derived";
  readonly expected: Json;
  readonly actual: Json;
}

async function checkDerived(cli: Cli, { db, app }: OpenedDatabase): Promise<readonly DerivedProblem[]> {
  const derivations = app?.derivations ?? [];
  if (derivations.length === 0) {
    throw new UsageError(
      "The module declares no derivations: list them in `derivations` of its default export.",
    );
  }
  const progress = new Progress(cli);
  const problems: DerivedProblem[] = [];
  await using snapshot = await db.snapshot();
  try {
    for (const derivation of derivations) {
      const limit = maxListed - problems.length;
      if (limit === 0) break;
      const differences = await derivation.compare(snapshot, {
        limit,
        signal: cli.signal,
        onProgress: (rows) => progress.show(() => `${derivation.name}: ${counted(rows, "row")} compared`),
      });
      const isBehind = differences.length > 0 && (await hasPending(cli, { db }, derivation.observers));
      problems.push(...differences.map((each) => problemOf(each, isBehind)));
    }
  } finally {
    progress.end();
  }
  return problems;
}

async function hasPending(
  cli: Cli,
  { db }: Pick<OpenedDatabase, "db">,
  observers: readonly { readonly name: string }[],
): Promise<boolean> {
  for (const { name } of observers) {
    for await (const _ of db.pending({ observer: name, signal: cli.signal })) return true;
  }
  return false;
}

function problemOf(difference: DerivedDifference, isBehind: boolean): DerivedProblem {
  const { derivation, row, expected, actual, error } = difference;
  const where = `${derivation}/${row}`;
  if (error !== undefined) {
    const message = `cannot be derived: ${messageOf(error)}`;
    return { invariant: "derived", where, message, expected: null, actual: null };
  }
  const is = actual === undefined ? "is missing" : `is ${JSON.stringify(rowToJson(actual))}`;
  const must =
    expected === undefined ? "must not be there" : `should be ${JSON.stringify(rowToJson(expected))}`;
  const advice = isBehind
    ? "changes are pending, so run `percolator wait` and check again"
    : "look for parked changes with `percolator parked`, or raise the derivation's `version`";
  return {
    invariant: "derived",
    where,
    message: `the row ${is} but ${must}; ${advice}`,
    expected: rowToJson(expected),
    actual: rowToJson(actual),
  };
}

function rowToJson(row: DerivedDifference["expected"]): Json {
  if (row === undefined) return null;
  const values = Object.entries(row).filter(([, value]) => value !== undefined);
  return Object.fromEntries(values.map(([name, value]) => [name, valueToJson(value)]));
}
