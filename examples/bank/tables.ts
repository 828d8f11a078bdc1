/** The tables. Amounts are whole dollars. */
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
   * The other account of the same household. Each may be overdrawn by the amount that the other one
   * has.
   */
  partner: text(),
});

/**
 * The ledger: each transfer, by an id that the caller chooses. It is written once, in the
 * transaction that moves the money.
 */
export const transfers = table("transfers", { transfer: json<Transfer>() });

/**
 * The audit trail: by account and transfer, what the account gained or lost. Only the observer
 * writes it.
 */
export const trail = table("trail", { amount: int() }, { key: tuple(text(), text()) });

/**
 * The account from which money comes into the bank. Its balance is minus the sum of all others, so
 * the total is 0.
 */
export const cash = "cash";

export const tables = [accounts, transfers, trail];
