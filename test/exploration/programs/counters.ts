import type { Database } from "../../../src/index.js";
import type { ClientEnd, Program } from "../../../src/testing/exploration/index.js";
import { cells, expectEqual, startWith } from "./tables.js";

const increment = (retries: number) => (db: Database) =>
  db.transact(async (tx) => tx.set(cells.value, "a", (await tx.get(cells.value, "a"))! + 1), { retries });

/** Expects as many increments as were confirmed. Each unknown outcome allows one more. */
const counted = (ends: Readonly<Record<string, ClientEnd>>) => {
  const committed = Object.values(ends).filter((end) => end.outcome === "returned").length;
  const unknown = Object.values(ends).filter(
    (end) =>
      end.outcome === "stopped" ||
      (end.outcome === "failed" && codeOf(end.error) === "COMMIT_OUTCOME_UNKNOWN"),
  ).length;
  return { least: committed, most: committed + unknown };
};

function codeOf(error: unknown): unknown {
  return (error as { code?: unknown }).code;
}

/** A program whose counter must include every confirmed increment. */
function counting(program: Omit<Program, "tables" | "setup" | "healed" | "ended">): Program {
  let told = { least: 0, most: 0 };
  return {
    tables: [cells],
    setup: startWith({ a: 0 }),
    ...program,
    ended: (ends) => {
      told = counted(ends);
    },
    healed: async (db) => {
      const value = await db.transact((tx) => tx.get(cells.value, "a"));
      if (value! >= told.least && value! <= told.most) return;
      expectEqual(
        "the counter",
        value,
        told.least === told.most ? told.least : `${told.least} to ${told.most}`,
      );
    },
  };
}

export const threeWriters = counting({
  name: "three writers on one cell",
  commit: "two-phase",
  clients: {
    A: ({ db }) => increment(0)(db),
    B: ({ db }) => increment(0)(db),
    C: ({ db }) => increment(0)(db),
  },
});

export const threeWritersOnePhase = counting({
  name: "three writers on one cell, in one phase",
  clients: {
    A: ({ db }) => increment(1)(db),
    B: ({ db }) => increment(1)(db),
    C: ({ db }) => increment(1)(db),
  },
  faults: { lostAnswers: 1, stops: 1 },
});

export const twoIncrements = counting({
  name: "two increments that are tried again",
  commit: "two-phase",
  clients: { A: ({ db }) => increment(1)(db), B: ({ db }) => increment(1)(db) },
});

export const twoIncrementsLostAnswer = counting({
  name: "two increments, an answer lost and one stops",
  commit: "two-phase",
  clients: { A: ({ db }) => increment(0)(db), B: ({ db }) => increment(0)(db) },
  faults: { lostAnswers: 1, stops: 1 },
});
