import type { AnyTable, Database, Snapshot } from "percolatordb";
import * as app from "./app.js";
import { accountName, accountRows, openingBalance, operation } from "./operations.js";

/** Every table as plain rows, by row key. */
export type Tables = ReadonlyMap<string, ReadonlyMap<string, Readonly<Record<string, unknown>>>>;

/** A state that differs from the expected one. */
export class Difference extends Error {}

/** Returns the operations that the log records, in commit order. */
export async function doneIn(db: Database): Promise<readonly string[]> {
  const names: string[] = [];
  {
    await using snapshot = await db.snapshot();
    for await (const { row } of snapshot.scan(app.log.done)) names.push(row);
  }
  const commits = await Promise.all(
    names.map(async (name) => ({ name, at: (await db.history(app.log.done, name))[0]!.commitTimestamp })),
  );
  return commits.sort((a, b) => a.at - b.at).map(({ name }) => name);
}

/** Returns the tables that these operations produce in this order, computed by a plain program. */
export function twinOf(done: readonly string[]): Tables {
  const contents = new Map<string, string>();
  const balances = new Map<string, number>();
  for (const name of done) {
    const { changes, transfer } = operation(...parseName(name));
    for (const change of changes) {
      if (change.contents === undefined) contents.delete(change.row);
      else contents.set(change.row, change.contents);
    }
    if (transfer === undefined) continue;
    const balance = (account: string) => balances.get(account) ?? openingBalance;
    balances.set(transfer.from, balance(transfer.from) - transfer.amount);
    balances.set(transfer.to, balance(transfer.to) + transfer.amount);
  }
  return derive(contents, balances, done);
}

export function parseName(name: string): [writer: string, number: number] {
  const at = name.lastIndexOf("/");
  return [name.slice(0, at), Number(name.slice(at + 1))];
}

function derive(
  contents: ReadonlyMap<string, string>,
  balances: ReadonlyMap<string, number>,
  done: readonly string[],
): Tables {
  const words = new Map<string, number>();
  const sizes = new Map<string, number>();
  const initials = new Map<string, number>();
  const totals = new Map<string, number>();
  const add = (counts: Map<string, number>, row: string, by: number) =>
    counts.set(row, (counts.get(row) ?? 0) + by);
  for (const text of contents.values()) {
    for (const word of app.wordsOf(text)) add(words, word, 1);
    add(sizes, app.sizeOf(text.length), 1);
    add(initials, app.initialOf(text), 1);
  }
  for (const [account, balance] of balances) add(totals, app.shardOf(account), balance);
  const rows = (values: Iterable<readonly [string, unknown]>, column: string) =>
    new Map([...values].map(([row, value]) => [row, { [column]: value }]));
  return new Map<string, Map<string, Record<string, unknown>>>([
    [
      "documents",
      new Map([...contents].map(([row, text]) => [row, { contents: text, length: text.length }])),
    ],
    ["words", rows(words, "count")],
    ["sizes", rows(sizes, "count")],
    ["initials", rows(initials, "count")],
    ["accounts", rows(balances, "balance")],
    ["totals", rows(totals, "sum")],
    [
      "log",
      rows(
        done.map((name) => [name, 1] as const),
        "done",
      ),
    ],
  ]);
}

/** Compares every table with the twin's. Throws a {@link Difference} for the first difference. */
export async function compare(db: Database, twin: Tables, late: boolean): Promise<void> {
  await using snapshot = await db.snapshot();
  for (const [name, table] of Object.entries(app.tables)) {
    if (table === app.initials && !late) continue;
    compareTable(name, twin.get(name)!, await rowsOf(snapshot, table));
  }
  let sum = 0;
  for (let index = 0; index < accountRows; index++) {
    sum += (await snapshot.get(app.accounts.balance, accountName(index))) ?? openingBalance;
  }
  if (sum !== accountRows * openingBalance) throw new Difference(`The balances have the sum ${sum}.`);
}

async function rowsOf(snapshot: Snapshot, table: AnyTable): Promise<Map<string, Record<string, unknown>>> {
  const rows = new Map<string, Record<string, unknown>>();
  for await (const { row, value } of snapshot.scan(table)) {
    const { runs: _runs, filler: _filler, ...rest } = value as Record<string, unknown>;
    const columns = Object.entries(rest).filter(([, cell]) => cell !== undefined);
    if (columns.length > 0) rows.set(String(row), Object.fromEntries(columns));
  }
  return rows;
}

function compareTable(
  name: string,
  expected: ReadonlyMap<string, Readonly<Record<string, unknown>>>,
  found: ReadonlyMap<string, Readonly<Record<string, unknown>>>,
): void {
  for (const row of new Set([...expected.keys(), ...found.keys()])) {
    const [wanted, stands] = [expected, found].map((rows) => canonical(rows.get(row)));
    if (wanted !== stands) {
      throw new Difference(
        `Table ${name}, row ${row}: the twin has ${show(wanted)}, the database ${show(stands)}.`,
      );
    }
  }
}

function canonical(row: Readonly<Record<string, unknown>> | undefined): string | undefined {
  if (row === undefined) return undefined;
  return JSON.stringify(Object.entries(row).sort(([a], [b]) => (a < b ? -1 : 1)));
}

const show = (row: string | undefined) => (row === undefined ? "nothing" : row.slice(0, 200));

/**
 * Throws if an observer committed more runs on a row than the row had changes plus new observer
 * versions.
 */
export async function compareRuns(db: Database, done: readonly string[], versions: number): Promise<void> {
  const changes = new Map<string, number>();
  for (const name of done) {
    for (const { row } of operation(...parseName(name)).changes)
      changes.set(row, (changes.get(row) ?? 0) + 1);
  }
  await using snapshot = await db.snapshot();
  for await (const { row, value: runs } of snapshot.scan(app.documents.runs)) {
    const most = (changes.get(row) ?? 0) + versions - 1;
    if (runs > most) throw new Difference(`Row ${row} has ${runs} runs for ${most} changes and versions.`);
  }
}
