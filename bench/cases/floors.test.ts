import { expect, test } from "vitest";
import { summarize } from "../harness/statistics.js";
import { cellTables, floorOf, postgresTables } from "./floors.js";

test.each([
  ["reads, 100 bytes", 0.75],
  ["reads, 100 bytes, raw side with ready keys", undefined],
  ["getMany of 100, 100 bytes", 0.8],
  ["transactions of one cell, 1,000 in flight, flushed", 0.75],
  ["transactions of 10 cells, 1,000 in flight, flushed", 0.6],
  ["transactions of one cell, 1,000 in flight, answered before the flush", 0.6],
  ["transactions of 10 cells, 1,000 in flight, answered before the flush", 0.5],
  ["transactions of 10 cells, 1 in flight, flushed", 0.7],
  ["ranges of 100, 100 bytes", undefined],
])("the floor of %s is %s", (name, floor) => {
  expect(floorOf(name)).toBe(floor);
});

const name = "transactions of 10 cells, 1,000 in flight, flushed";

test("the rate and the processor time of a cell have bounds of their own", () => {
  const drawn = (perSecond: number, us: number) =>
    cellTables([{ name, ours: summarize([perSecond]), ourCpuUs: summarize([us]) }]).join();
  expect(drawn(4_600, 150)).toContain("| 46,000 | 46,000 to 46,000 | at least 46,000: met |");
  expect(drawn(4_599, 150)).toContain("at least 46,000: **missed**");
  expect(drawn(4_600, 150)).toContain("| 15.0 | 15.0 to 15.0 | at most 15: met |");
  expect(drawn(4_600, 151)).toContain("at most 15: **missed**");
});

test("results without the processor time, and without these transactions, have no line for it", () => {
  expect(cellTables([{ name, ours: summarize([1]) }]).join()).not.toContain("CPU");
  expect(cellTables([{ name: "reads, 100 bytes", ours: summarize([1]) }])).toEqual([]);
});

test.each([
  { name: "transactions of one cell on PostgreSQL, 1,000 in flight", met: 20_000, floor: "20,000" },
  { name: "transactions of 10 cells on PostgreSQL, 200 in flight", met: 4_000, floor: "40,000" },
  { name: "reads on PostgreSQL, 1,000 in flight, gathered", met: 40_000, floor: "40,000" },
])("the rate of $name has a floor", ({ name, met, floor }) => {
  const drawn = (rate: number) => postgresTables([{ name, ours: summarize([rate]) }]).join();
  expect(drawn(met)).toContain(`| at least ${floor}: met |`);
  expect(drawn(met - 1)).toContain(`| at least ${floor}: **missed** |`);
});

test("results without PostgreSQL have no table for it", () => {
  expect(postgresTables([{ name, ours: summarize([1]) }])).toEqual([]);
});
