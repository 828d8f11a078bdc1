import { int, table } from "percolatordb";

/** What one process commits and the other one reads. */
export const told = table("told", { value: int(), seen: int() });
