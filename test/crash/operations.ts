import type { Isolation, Transaction } from "percolatordb";
import { accounts, documents, log } from "./app.js";
import { Random } from "./random.js";

export const documentRows = 60;
export const accountRows = 12;
export const openingBalance = 100;

/** One transaction of a writer. It is determined by the writer's number and its own number. */
export interface Operation {
  /** The name of its row in `log`. */
  readonly name: string;
  /** If `contents` is undefined, the row is deleted. */
  readonly changes: readonly { readonly row: string; readonly contents: string | undefined }[];
  readonly transfer: { readonly from: string; readonly to: string; readonly amount: number } | undefined;
  readonly isolation: Isolation;
}

export const documentName = (index: number) => `doc${String(index).padStart(3, "0")}`;
export const accountName = (index: number) => `account${String.fromCharCode(97 + index)}`;

export function operation(writer: string, number: number): Operation {
  const random = new Random(`${writer}/${number}`);
  const kind = random.next();
  const changed = kind < 0.55 ? 1 : kind < 0.75 ? 0 : 3;
  const rows = new Set(Array.from({ length: changed }, () => documentName(random.below(documentRows))));
  const changes = [...rows].map((row) => ({ row, contents: random.chance(0.2) ? undefined : text(random) }));
  const from = random.below(accountRows);
  const to = (from + 1 + random.below(accountRows - 1)) % accountRows;
  return {
    name: `${writer}/${number}`,
    changes,
    transfer:
      changed === 1
        ? undefined
        : { from: accountName(from), to: accountName(to), amount: 1 + random.below(20) },
    isolation: random.chance(0.25) ? "serializable" : "snapshot",
  };
}

function text(random: Random): string {
  // Sometimes too long for the store to keep inline with the cell.
  const count = random.chance(0.03) ? 4_000 : 2 + random.below(12);
  return Array.from({ length: count }, () => `w${random.below(100)}`).join(" ");
}

/** Performs an operation within its transaction. */
export async function perform(tx: Transaction, operation: Operation): Promise<void> {
  for (const { row, contents } of operation.changes) {
    if (contents === undefined) tx.delete(documents.contents, row);
    else tx.set(documents.contents, row, contents);
  }
  const { transfer } = operation;
  if (transfer !== undefined) {
    const [from, to] = await tx.getMany(accounts.balance, [transfer.from, transfer.to]);
    tx.set(accounts.balance, transfer.from, (from ?? openingBalance) - transfer.amount);
    tx.set(accounts.balance, transfer.to, (to ?? openingBalance) + transfer.amount);
  }
  tx.set(log.done, operation.name, 1);
}
