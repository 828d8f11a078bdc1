/** What is stored. Money is whole dollars. */
import { int, json, table, text, tuple } from "percolatordb";

export interface Transfer {
  readonly from: string;
  readonly to: string;
  readonly amount: number;
}

/** Accounts by name. */
export const accounts = table("accounts", {
  balance: int(),
  /**
   * The other account of the same household: each may be overdrawn by as much as the other one
   * holds.
   */
  partner: text(),
});

/**
 * What was transferred, by an id of the caller's: written once, in the transaction that moves the
 * money.
 */
export const transfers = table("transfers", { transfer: json<Transfer>() });

/**
 * The audit trail: by account and transfer, what the account gained or lost. Written by the
 * observer alone.
 */
export const trail = table("trail", { amount: int() }, { key: tuple(text(), text()) });

/**
 * Where money comes from and goes to. Its balance is below 0 by the sum of all others: the total is
 * 0.
 */
export const cash = "cash";

export const tables = [accounts, transfers, trail];
