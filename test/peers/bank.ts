import { int, observer, table } from "percolatordb";

export const accounts = table("accounts", { balance: int(), copy: int() });

/** Keeps a copy of each balance, so that a lost, repeated or unnecessary run is visible. */
export const copies = observer("copies", accounts.balance, (tx, { row, value }) => {
  if (value === undefined) tx.delete(accounts.copy, row);
  else tx.set(accounts.copy, row, value);
});
