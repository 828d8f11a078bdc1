import { describe, expect, test } from "vitest";
import { Emitter, type EventMap } from "../../events/index.js";
import { TestClock } from "../../testing/index.js";
import { Recorder } from "./recorder.js";
import { heatBucketMs } from "./report.js";

type Told = EventMap["transaction"];

const cell = (row: string, column = "body", table = "pages") => {
  return { table, row: Buffer.from(row), column: Buffer.from(column) };
};

function ended(part: Partial<Told> = {}): Told {
  return {
    startTimestamp: 1,
    commitTimestamp: undefined,
    outcome: "committed",
    label: undefined,
    phases: undefined,
    durationMs: 1,
    cause: undefined,
    spans: [],
    reads: 0,
    read: [],
    cells: 0,
    written: [],
    hints: 0,
    hinted: [],
    conflict: undefined,
    error: undefined,
    ...part,
  };
}

const committed = (commitTimestamp: number, part: Partial<Told> = {}) =>
  ended({ commitTimestamp, phases: 1, ...part });
const cause = (observer: string) => ({ observer, cell: cell("a"), commitTimestamp: 1 });

function start() {
  const clock = new TestClock();
  const events = new Emitter();
  const recorder = new Recorder(events, clock.process());
  return { clock, events, recorder, tell: (event: Told) => events.emit("transaction", event) };
}

describe("a recorder", () => {
  test("remembers the newest transactions, and lists those after a number", () => {
    const { recorder, tell } = start();
    for (let commit = 1; commit <= 3_000; commit++) tell(committed(commit));
    expect(recorder.newest).toBe(3_000);
    const all = recorder.transactions(0, 10_000);
    expect([all.length, all.at(0)?.number, all.at(-1)?.number]).toEqual([500, 2_501, 3_000]);
    expect(recorder.transactions(2_998, 200).map(({ number }) => number)).toEqual([2_999, 3_000]);
    expect(recorder.transactions(0, 2).map(({ number }) => number)).toEqual([2_999, 3_000]);
    expect(recorder.transactions(3_000, 200)).toEqual([]);
  });

  test("leaves out runs that found nothing to do", () => {
    const { recorder, tell } = start();
    tell(ended({ cause: cause("titles") }));
    tell(ended());
    expect(recorder.newest).toBe(1);
  });

  test("counts by outcome, and stops listening when it is closed", async () => {
    const { clock, events, recorder, tell } = start();
    for (let each = 0; each < 5; each++) tell(committed(each + 1));
    tell(ended({ outcome: "conflict", conflict: { cell: undefined, winnerTimestamp: undefined } }));
    tell(ended({ outcome: "rolled back" }));
    await clock.advance(1_000);
    expect(recorder.figures()).toMatchObject({
      commitsPerSecond: 1,
      conflictsPerSecond: 0.2,
      rollbacksPerSecond: 0.2,
    });
    recorder.close();
    expect(events.hasListeners("transaction")).toBe(false);
    expect(events.hasListeners("run")).toBe(false);
  });

  test("keeps delays and outcomes of a bounded number of observers", async () => {
    const { clock, events, recorder } = start();
    const run = (observer: string, outcome: EventMap["run"]["outcome"], delayMs?: number) =>
      events.emit("run", {
        observer,
        outcome,
        durationMs: 1,
        delayMs,
        changes: 1,
        attempts: 0,
        error: undefined,
        cause: cause(observer),
      });
    run("titles", "committed", 10);
    for (const outcome of ["failed", "timeout", "parked", "conflict", "clean"] as const)
      run("titles", outcome);
    for (let each = 0; each < 1_000; each++) run(`o${each}`, "committed", 1);
    await clock.advance(1_000);
    const observers = recorder.observers();
    expect(observers.titles).toMatchObject({
      runsPerSecond: 0.2,
      // The change was parked after a run that is counted as failed.
      failuresPerSecond: 0.4,
      conflictsPerSecond: 0.2,
    });
    expect(observers.titles?.delay).toEqual([[expect.any(Number), 1]]);
    expect(Object.keys(observers).length).toBe(256);
  });

  test("names the winner of a conflict, even if the winner ends after the loser or holds a lock", () => {
    const { recorder, tell } = start();
    const lost = (winnerTimestamp: number | undefined, loser: string) =>
      tell(ended({ outcome: "conflict", label: loser, conflict: { cell: cell("a"), winnerTimestamp } }));
    tell(committed(10, { label: "known" }));
    lost(10, "one");
    lost(20, "two");
    lost(30, "three");
    lost(99, "four");
    lost(undefined, "five");
    tell(committed(20, { label: "late" }));
    tell(committed(40, { label: "locker", startTimestamp: 30, phases: 2 }));
    const winners = Object.fromEntries(recorder.conflicts().map(({ loser, winner }) => [loser, winner]));
    expect(winners).toEqual({ one: "known", two: "late", three: "locker", four: undefined, five: undefined });
    expect(recorder.conflicts().find(({ loser }) => loser === "four")?.winnerTimestamp).toBe(99);
  });

  test("keeps the most frequent of many conflicts, and forgets old ones", async () => {
    const { clock, recorder, tell } = start();
    tell(committed(10, { label: "winner" }));
    const lose = (row: string) =>
      tell(ended({ outcome: "conflict", conflict: { cell: cell(row), winnerTimestamp: 10 } }));
    for (let each = 0; each < 50; each++) lose("hot");
    for (let each = 0; each < 1_000; each++) lose(`cold${each}`);
    const listed = recorder.conflicts();
    expect(listed.length).toBe(200);
    expect(listed.find(({ cell: { row } }) => row.toString() === "hot")?.count).toBe(50);
    await clock.advance(400_000);
    expect(recorder.conflicts().length).toBe(200);
    await clock.advance(400_000);
    expect(recorder.conflicts()).toEqual([]);
  });

  test("learns flows by column and family, and when they stop", async () => {
    const { clock, recorder, tell } = start();
    for (let commit = 1; commit <= 20; commit++) {
      await clock.advance(1_000);
      tell(
        committed(commit, {
          cause: cause("titles"),
          reads: 2,
          read: [cell("a"), cell("a", "")],
          cells: 3,
          written: [cell("a", "title"), cell("a", "links\0x"), cell("a", "links\0y")],
        }),
      );
    }
    tell(committed(21, { label: "load", written: [cell("a")], cells: 1 }));
    const flows = recorder
      .flows()
      .map(({ does, column, perSecond }) => [does, column, Math.round(perSecond)]);
    expect(flows).toEqual([
      ["reads", "body", 1],
      ["reads", "*", 1],
      ["writes", "title", 1],
      ["writes", "links", 2],
    ]);
    await clock.advance(120_000);
    expect(recorder.flows().map(({ perSecond }) => perSecond)).toEqual([0, 0, 0, 0]);
  });

  test("counts a notified signal as written, and a written cell once", () => {
    const { recorder, tell } = start();
    const [title, rescore] = [cell("a", "title"), cell("b", "rescore")];
    tell(committed(1, { cause: cause("titles"), cells: 1, written: [title], hinted: [title, rescore] }));
    expect(recorder.flows().map(({ does, column }) => [does, column])).toEqual([
      ["writes", "title"],
      ["writes", "rescore"],
    ]);
  });

  test("keeps a uniform sample of rows for heat, and their number", async () => {
    const { clock, recorder, tell } = start();
    for (let each = 0; each < 500; each++)
      tell(committed(each + 1, { written: [cell(`r${each}`)], cells: 1 }));
    const [sample] = recorder.heat("pages", "writes");
    expect(sample).toMatchObject({ total: 500 });
    expect(sample?.rows.length).toBe(48);
    const late = sample!.rows.filter((row) => Number(Buffer.from(row, "base64").toString().slice(1)) >= 48);
    expect(late.length).toBeGreaterThan(24);
    await clock.advance(heatBucketMs);
    tell(committed(501, { written: [cell("a")], cells: 1, hints: 2, hinted: [cell("a"), cell("b")] }));
    expect(recorder.heat("pages", "writes").map(({ total }) => total)).toEqual([500, 1]);
    expect(recorder.heat("pages", "hints").map(({ rows }) => rows.length)).toEqual([2]);
    expect(recorder.heat("other", "writes")).toEqual([]);
    await clock.advance(400_000);
    expect(recorder.heat("pages", "writes")).toEqual([]);
  });
});
