import { expect, test } from "vitest";
import { type Footprint, Waves } from "./waves.js";

const nothing: Footprint = { guarded: [], written: [], guardedTables: [], writtenTables: [] };

test.each<{ name: string; before: Partial<Footprint>; next: Partial<Footprint>; wave: number }>([
  { name: "checks what was written", before: { written: ["a"] }, next: { guarded: ["a"] }, wave: 3 },
  { name: "writes what was written", before: { written: ["a"] }, next: { written: ["a"] }, wave: 3 },
  { name: "writes what was checked", before: { guarded: ["a"] }, next: { written: ["a"] }, wave: 2 },
  { name: "checks what was checked", before: { guarded: ["a"] }, next: { guarded: ["a"] }, wave: 0 },
  { name: "has other cells", before: { guarded: ["a"], written: ["a"] }, next: { written: ["b"] }, wave: 0 },
  {
    name: "checks a table that was written",
    before: { writtenTables: [1] },
    next: { guardedTables: [1] },
    wave: 3,
  },
  {
    name: "writes to a table that was checked",
    before: { guardedTables: [1] },
    next: { writtenTables: [1] },
    wave: 2,
  },
  {
    name: "writes to a table that was written",
    before: { writtenTables: [1] },
    next: { writtenTables: [1] },
    wave: 0,
  },
])("a transaction that $name in wave 2 is in wave $wave", ({ before, next, wave }) => {
  const waves = new Waves();
  waves.add({ ...nothing, ...before }, 2);
  expect(waves.of({ ...nothing, ...next })).toBe(wave);
  // An earlier wave that is added later takes nothing back.
  waves.add({ ...nothing, ...before }, 0);
  expect(waves.of({ ...nothing, ...next })).toBe(wave);
});
