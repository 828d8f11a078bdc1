import type { Database, Snapshot } from "percolatordb";
import { accounts, documents, log, wordsOf } from "../crash/app.js";
import { accountName, accountRows, openingBalance, operation } from "../crash/operations.js";
import { Difference, parseName } from "../crash/twin.js";
import { beginnings, mirrors } from "./app.js";

/** Every expected cell, by `table/row/column`. */
export type Cells = ReadonlyMap<string, unknown>;

/** Returns the cells that these operations produce in this order, computed by a plain program. */
export function cellsOf(done: readonly string[]): Cells {
  const contents = new Map<string, string>();
  const balances = new Map<string, number>();
  const cells = new Map<string, unknown>();
  for (const name of done) {
    cells.set(`log/${name}/done`, 1);
    const { changes, transfer } = operation(...parseName(name));
    for (const change of changes) {
      if (change.contents === undefined) contents.delete(change.row);
      else contents.set(change.row, change.contents);
    }
    if (transfer === undefined) continue;
    for (const [account, sign] of [
      [transfer.from, -1],
      [transfer.to, 1],
    ] as const) {
      balances.set(account, (balances.get(account) ?? openingBalance) + sign * transfer.amount);
    }
  }
  const counts = new Map<string, number>();
  for (const [row, text] of contents) {
    cells.set(`documents/${row}/contents`, text);
    cells.set(`documents/${row}/length`, text.length);
    const [word] = wordsOf(text);
    if (word !== undefined) counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  for (const [word, count] of counts) cells.set(`beginnings/${word}/count`, count);
  for (const [account, balance] of balances) {
    cells.set(`accounts/${account}/balance`, balance);
    cells.set(`mirrors/${account}/sum`, balance);
  }
  return cells;
}

/**
 * Compares every cell of one snapshot with the expected cells. Throws a {@link Difference} at the
 * first cell that differs.
 */
export async function compareCells(db: Database, expected: Cells): Promise<void> {
  await using snapshot = await db.snapshot();
  const found = await foundIn(snapshot);
  for (const cell of new Set([...expected.keys(), ...found.keys()])) {
    const [wanted, stands] = [expected.get(cell), found.get(cell)];
    if (wanted !== stands)
      throw new Difference(`${cell}: the twin has ${show(wanted)}, the database ${show(stands)}.`);
  }
  let sum = 0;
  for (let index = 0; index < accountRows; index++) {
    sum += (await snapshot.get(accounts.balance, accountName(index))) ?? openingBalance;
  }
  if (sum !== accountRows * openingBalance) throw new Difference(`The balances have the sum ${sum}.`);
}

async function foundIn(snapshot: Snapshot): Promise<Cells> {
  const cells = new Map<string, unknown>();
  for (const [name, table] of Object.entries({ documents, accounts, log, beginnings, mirrors })) {
    for await (const { row, value } of snapshot.scan(table)) {
      for (const [column, cell] of Object.entries(value as Record<string, unknown>)) {
        if (cell !== undefined && column !== "runs") cells.set(`${name}/${String(row)}/${column}`, cell);
      }
    }
  }
  return cells;
}

const show = (cell: unknown) => (cell === undefined ? "nothing" : JSON.stringify(cell).slice(0, 200));
