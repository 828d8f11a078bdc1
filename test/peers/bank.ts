import { int, observer, table } from "percolatordb";

export const accounts = table("accounts", { balance: int(), copy: int() });

/** Keeps a copy of each balance, so that a lost, doubled or spurious run shows. */
export const copies = observer("copies", accounts.balance, (tx, { row, value }) => {
  if (value === undefined) tx.delete(accounts.copy, row);
  else tx.set(accounts.copy, row, value);
});
