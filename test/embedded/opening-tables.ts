import { int, table } from "percolatordb";

/** Counters. */
export const counted = table("counted", { value: int() });
