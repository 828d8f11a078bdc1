import { observer, table, text } from "percolatordb";

export const pages = table("pages", { html: text(), seen: text() });

/** Ends its process when it handles one particular row. Copies all other rows. */
export const killer = observer("killer", pages.html, (tx, { row, value }) => {
  if (row === "poison") process.kill(process.pid, "SIGKILL");
  if (value !== undefined) tx.set(pages.seen, row, value);
});
