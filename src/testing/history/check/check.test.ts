import { describe, expect, test } from "vitest";
import { anomalous } from "../../../../test/support/histories/anomalous.js";
import {
  type Case,
  cell,
  makeHistory,
  read,
  scan,
  setup,
  write,
} from "../../../../test/support/histories/history.js";
import { sound } from "../../../../test/support/histories/sound.js";
import type { History } from "../history.js";
import type { AnomalyKind } from "./anomaly.js";
import { checkHistory } from "./check.js";

function kindsOf(history: History): readonly AnomalyKind[] {
  return [...new Set(checkHistory(history).anomalies.map(({ kind }) => kind))].sort();
}

const withAudit = ({ history, audit }: Case): History => ({ ...history, audit });

describe("anomalies", () => {
  test.each(anomalous)("$name", (each) => {
    expect(kindsOf(withAudit(each))).toEqual([...each.kinds].sort());
  });

  test("every kind has a history with that anomaly", () => {
    const every: Record<AnomalyKind, true> = {
      G0: true,
      G1a: true,
      G1b: true,
      G1c: true,
      "G-single": true,
      "long-fork": true,
      "G2-item": true,
      G2: true,
      P4: true,
      "overlapping-writers": true,
      OTV: true,
      "fractured-read": true,
      internal: true,
      "scan-order": true,
      "future-read": true,
      "missed-write": true,
      "stale-read": true,
      "non-monotonic-read": true,
      "read-your-writes": true,
      "real-time": true,
      garbage: true,
      "lost-write": true,
      "resurrected-write": true,
      atomicity: true,
      timestamps: true,
    };
    const shown = new Set(anomalous.flatMap(({ kinds }) => kinds));
    expect([...shown].sort()).toEqual(Object.keys(every).sort());
  });

  test("a message names the transactions, their clients and timestamps, and the cell", () => {
    const { anomalies } = checkHistory(
      makeHistory(
        setup,
        { client: "alice", start: 3, commit: 4, steps: [write("x", 1)] },
        { client: "bob", start: 5, steps: [read("x", 0)] },
      ),
    );
    expect(anomalies).toEqual([
      {
        kind: "stale-read",
        transactions: [3, 2],
        message:
          'stale-read: T3 (bob; start 5, committed) read t.v["x"] by name as 0, missing the write of T2 (alice; start 3, ' +
          "commit 4), which was reported as committed before the reader began. At 5 it is 1.",
      },
    ]);
  });

  test("a cycle is printed step by step", () => {
    const { anomalies } = checkHistory(anomalous.find(({ kinds }) => kinds[0] === "G2")!.history);
    expect(anomalies[0]!.message).toMatch(
      /^G2: each comes before the next.*rw on t\.v\["[mn]"\], in a range/,
    );
    expect([...anomalies[0]!.transactions].sort()).toEqual([2, 3]);
  });

  test("of many anomalies of a kind some are kept, and all counted", () => {
    const steps = Array.from({ length: 50 }, () => read("x", 99));
    const { anomalies, counts } = checkHistory(makeHistory(setup, { start: 3, steps }), { maxOfAKind: 3 });
    expect(anomalies.length).toBe(3);
    expect(counts.get("garbage")).toBe(50);
  });
});

describe("sound histories", () => {
  test.each(sound)("$name", (each) => {
    const { anomalies } = checkHistory(withAudit(each));
    expect(anomalies).toEqual([]);
  });

  test("contents from before the recording", () => {
    const history = makeHistory(
      { start: 5, steps: [read("x", 1), scan({ start: "" }, ["x", 1])] },
      { start: 5, commit: 6, steps: [write("x", 2)] },
      { start: 7, steps: [read("x", 2)] },
    );
    const initial = [{ cell: cell("x"), value: "1" }];
    expect(checkHistory({ ...history, initial }).anomalies).toEqual([]);
    expect(kindsOf(history)).toEqual(["garbage"]);
  });

  test("counts what was checked", () => {
    const report = checkHistory(
      makeHistory(
        setup,
        { start: 3, outcome: "conflicted", steps: [read("x", 0), write("x", 1)] },
        { start: 3, outcome: "failed", steps: [] },
        { start: 3, outcome: "unknown", steps: [write("x", 2)] },
        { start: 5, steps: [scan({ start: "" }, ["x", 2], ["y", 0])] },
      ),
    );
    expect(report).toMatchObject({
      anomalies: [],
      transactions: 5,
      committed: 2,
      conflicted: 1,
      failed: 1,
      unknown: 1,
      resolved: 1,
      observations: 3,
      ranges: 1,
      writes: 4,
    });
  });
});

describe("size", () => {
  test("more than 100,000 operations, with ranges and serializable transactions, and one wrong read among them", () => {
    const rows = 500;
    const row = (at: number) => `r${String(at % rows).padStart(3, "0")}`;
    const values = new Map<string, number>();
    const made = Array.from({ length: 15_000 }, (_, at) => {
      const start = at * 2 + 1;
      const reads = [1, 3, 7, 31, 127]
        .map((step) => row(at * step))
        .map((name) => read(name, values.get(name)));
      const near = [row(at), row(at + 1)].sort();
      const shown = near.flatMap((name) => {
        const value = values.get(name);
        return value === undefined ? [] : [[name, value] as const];
      });
      const ranges =
        near[1] === row(at + 1) ? [scan({ start: near[0]!, end: `${near[1]}\0` }, ...shown)] : [];
      values.set(row(at * 13), at);
      const serializable = at % 2 === 0;
      return {
        start,
        commit: start + 1,
        serializable,
        steps: [...reads, ...ranges, write(row(at * 13), at)],
      };
    });
    const clean = checkHistory(makeHistory(...made));
    expect(clean.anomalies).toEqual([]);
    expect(clean.observations).toBeGreaterThan(100_000);
    const wrong = { start: 20_001, steps: [read(row(0), -1)] };
    expect(kindsOf(makeHistory(...made, wrong))).toEqual(["garbage"]);
  });
});
