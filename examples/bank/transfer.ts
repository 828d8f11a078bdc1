import type { Transaction } from "percolatordb";
import { accounts, cash, type Transfer, transfers } from "./tables.js";

/** An account, together with its partner, has too little money. Nothing was moved. */
export class InsufficientFundsError extends Error {
  override readonly name = "InsufficientFundsError";
}

/**
 * Moves money and records the transfer in the ledger, or does neither. Returns false if a transfer
 * with this id was made before. So a caller that does not know whether its transfer was committed
 * can repeat it with the same id.
 *
 * @throws InsufficientFundsError if the household would be overdrawn.
 */
export async function transfer(tx: Transaction, id: string, given: Transfer): Promise<boolean> {
  const { from, to, amount } = given;
  if (!Number.isSafeInteger(amount) || amount <= 0) throw new RangeError(`${amount} cannot be transferred.`);
  if (from === to) throw new RangeError(`${from} cannot pay itself.`);
  if ((await tx.get(transfers.transfer, id)) !== undefined) return false;
  const [payer = 0, payee = 0] = await tx.getMany(accounts.balance, [from, to]);
  if (from !== cash && payer + (await heldByPartner(tx, from)) < amount) {
    throw new InsufficientFundsError(`${from} has too little to pay ${amount}.`);
  }
  tx.set(accounts.balance, from, payer - amount);
  tx.set(accounts.balance, to, payee + amount);
  tx.set(transfers.transfer, id, given);
  return true;
}

/** Returns the balance of the household's other account, which may be negative. */
async function heldByPartner(tx: Transaction, account: string): Promise<number> {
  const partner = await tx.get(accounts.partner, account);
  return partner === undefined ? 0 : ((await tx.get(accounts.balance, partner)) ?? 0);
}

/** Makes two accounts one household. */
export function pair(tx: Transaction, one: string, other: string): void {
  tx.set(accounts.partner, one, other);
  tx.set(accounts.partner, other, one);
}
