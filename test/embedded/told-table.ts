import { int, table } from "percolatordb";

/** One process commits to this table and the other one reads it. */
export const told = table("told", { value: int(), seen: int() });
