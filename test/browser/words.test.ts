import { describe, expect, test } from "vitest";
import { bounded, bytes, rate } from "../../web/src/format/numbers.js";
import { commandLine } from "../../web/src/format/shell.js";
import { oneLine } from "../../web/src/format/text.js";
import { ago, duration } from "../../web/src/format/times.js";
import { hashOf, parseRoute } from "../../web/src/routing/route.js";
import { healthOf, verdictOf } from "../../web/src/state/health.js";
import { fits, maxKept, merged } from "../../web/src/views/transactions/kept.js";
import { observers, overviewAt } from "../../web/testing/pipeline.js";
import { transactionAt } from "../../web/testing/transactions.js";

describe("figures are formatted for readers", () => {
  test.each([
    [undefined, "–"],
    [0, "0 ms"],
    [0.04, "<0.1 ms"],
    [0.44, "0.4 ms"],
    [12, "12 ms"],
    [999.7, "1.0 s"],
    [1_340, "1.3 s"],
    [59_400, "59 s"],
    [94_000, "1 min 34 s"],
    [3_600_000, "1 h"],
    [187_200_000, "2 d 4 h"],
  ])("%s ms is %s", (ms, text) => expect(duration(ms)).toBe(text));

  test("ages, counts, rates and bytes", () => {
    expect([ago(1_000, 1_400), ago(0, 61_000), ago(5_000, 0)]).toEqual(["now", "1 min 1 s ago", "in 5.0 s"]);
    expect(bounded({ count: 10_000, isBound: true })).toBe("10,000+");
    expect([0, 0.004, 0.5, 12.34, 1_204].map(rate)).toEqual(["0", "<0.01", "0.50", "12.3", "1,204"]);
    expect([812, 4_100, 12_000_000].map(bytes)).toEqual(["812 B", "4.1 KB", "12 MB"]);
  });

  test("control characters, and those that change the writing direction, are escaped", () => {
    expect(oneLine("a\nb\u0000\u202ec é 🦉")).toBe("a\\nb\\u0000\\u202ec é 🦉");
  });
});

describe("command lines", () => {
  test("quote arguments that a shell would split", () => {
    const parts = {
      command: "get",
      args: ["documents", `it's $HOME "x"`],
      options: { at: 5, prefix: undefined },
    };
    expect(commandLine("./my data", parts)).toBe(
      `percolator get './my data' documents 'it'\\''s $HOME "x"' --at 5`,
    );
  });

  test("protect an argument that looks like an option", () => {
    expect(commandLine("./data", { command: "get", args: ["t", "--x"], options: { at: 1 } })).toBe(
      "percolator get --at 1 -- ./data t --x",
    );
    expect(commandLine("./data", { command: "scan", args: ["t"], options: { prefix: "-a" } })).toBe(
      "percolator scan ./data t --prefix=-a",
    );
  });
});

describe("links", () => {
  test("contain a view's whole state, for any keys", () => {
    const state = { table: "t", row: "עברית/🦉?a=b&c#d\n", prefix: "" };
    const hash = hashOf("data", state);
    expect(parseRoute(hash)).toEqual({ view: "data", state: { table: "t", row: state.row } });
  });

  test("with an unknown view lead to the overview", () => {
    expect(parseRoute("#/nothing?x=1").view).toBe("overview");
    expect(parseRoute("").view).toBe("overview");
  });
});

describe("health", () => {
  const words = () => Object.fromEntries(observers.map((each) => [each.name, healthOf(each).word]));

  test("of an observer is its worst state", () => {
    expect(words()).toEqual({
      extract: "fresh",
      cluster: "behind",
      invert: "late",
      rank: "no worker",
      index: "parked",
      merge: "no worker",
    });
  });

  test("of everything is that of the worst observer", () => {
    const busy = overviewAt(0, "here", observers);
    expect(verdictOf(busy)).toMatchObject({ level: "bad", word: "invert: late", observer: "invert" });
    const fresh = { ...overviewAt(0, "here", observers.slice(0, 1)), schedules: [] };
    expect(verdictOf(fresh).word).toBe("Everything is fresh");
    expect(verdictOf(overviewAt(0, "here", [])).word).toBe("No observer is registered");
    const schedule = (ms: number) => ({
      name: "reminders",
      overdue: { count: 2, isBound: true },
      oldestOverdueMs: ms,
    });
    expect(verdictOf({ ...fresh, schedules: [schedule(100)] }).word).toBe("Everything is fresh");
    expect(verdictOf({ ...fresh, schedules: [schedule(100), schedule(20_000)] })).toMatchObject({
      level: "warn",
      word: "reminders: behind",
      why: expect.stringMatching(/^The oldest of 2 changes or more was due 20/),
      lookAt: "workers",
    });
    expect(verdictOf({ ...fresh, observers: [], schedules: [schedule(100_000)] })).toMatchObject({
      level: "bad",
    });
    expect(verdictOf({ ...busy, schedules: [schedule(100_000)] }).word).toBe("invert: late");
    const coordinator = { address: "10.0.0.1:4000", answers: false };
    expect(verdictOf({ ...busy, coordinator }).word).toBe("The coordinator does not answer");
  });
});

describe("the kept transactions", () => {
  const all = Array.from({ length: 900 }, (_, index) => transactionAt(index));

  test("are the newest, each once, up to a limit", () => {
    const kept = merged(all.slice(300), all.slice(0, 600));
    expect(kept).toHaveLength(maxKept);
    expect(new Set(kept.map(({ id }) => id)).size).toBe(maxKept);
    expect(kept[0]!.endedAt).toBe(Math.max(...all.map(({ endedAt }) => endedAt)));
  });

  test("are those that match the filter", () => {
    const filter = { label: "load", observer: "", outcome: "committed", table: "" };
    const through = all.filter((each) => fits(each, filter));
    expect(through.length).toBeGreaterThan(0);
    expect(through.every(({ label, outcome }) => label === "load" && outcome === "committed")).toBe(true);
  });
});
