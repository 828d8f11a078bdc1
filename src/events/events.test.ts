import { describe, expect, test } from "vitest";
import { SampledDistribution } from "./distribution.js";
import { distributionBounds, Emitter, Metrics } from "./index.js";

const commit = {
  startTimestamp: 1,
  commitTimestamp: 2,
  cells: 3,
  onlyTable: "t",
  label: undefined,
  phases: 1,
  durationMs: 4,
  commitMs: 1,
  cause: undefined,
} as const;
const run = {
  observer: "o",
  outcome: "committed",
  durationMs: 4,
  delayMs: 10,
  changes: 3,
  attempts: 0,
  error: undefined,
  cause: {
    observer: "o",
    cell: { table: "t", row: Buffer.from("r"), column: Buffer.from("c") },
    commitTimestamp: 2,
  },
} as const;

describe("an emitter", () => {
  test("calls listeners in order, until they stop listening", () => {
    const events = new Emitter();
    const heard: string[] = [];
    const stop = events.on("commit", () => heard.push("one"));
    events.on("commit", () => heard.push("two"));
    events.emit("commit", commit);
    stop();
    events.emit("commit", commit);
    expect(heard).toEqual(["one", "two", "two"]);
  });

  test("calls a function that listens twice until both have stopped", () => {
    const events = new Emitter();
    let heard = 0;
    const listener = () => heard++;
    const stop = events.on("commit", listener);
    events.on("commit", listener);
    stop();
    stop();
    events.emit("commit", commit);
    expect(heard).toBe(1);
  });

  test("knows whether an event has listeners", () => {
    const events = new Emitter();
    expect(events.hasListeners("run")).toBe(false);
    const stop = events.on("run", () => {});
    expect(events.hasListeners("run")).toBe(true);
    stop();
    expect(events.hasListeners("run")).toBe(false);
  });

  test("removes a listener that throws, reports it, and continues", () => {
    const events = new Emitter();
    const failures: unknown[] = [];
    let heard = 0;
    events.on("backgroundFailure", ({ error }) => failures.push(error));
    events.on("commit", () => {
      throw new Error("mine");
    });
    events.on("commit", () => heard++);
    events.emit("commit", commit);
    events.emit("commit", commit);
    expect(failures.length).toBe(1);
    expect(heard).toBe(2);
  });

  test("does so with a listener that rejects", async () => {
    const events = new Emitter();
    const failures: unknown[] = [];
    events.on("backgroundFailure", ({ doing }) => failures.push(doing));
    const rejects: () => unknown = () => Promise.reject(new Error("mine"));
    events.on("backgroundFailure", rejects);
    events.on("commit", rejects);
    events.emit("commit", commit);
    await new Promise(setImmediate);
    events.emit("commit", commit);
    events.emit("backgroundFailure", { doing: "x", error: 1 });
    await new Promise(setImmediate);
    expect(failures).toEqual(['A listener of the event "commit"', "x"]);
    expect(events.hasListeners("commit")).toBe(false);
  });

  test("a failure listener that throws causes no endless loop", () => {
    const events = new Emitter();
    events.on("backgroundFailure", () => {
      throw new Error("mine");
    });
    events.emit("backgroundFailure", { doing: "x", error: 1 });
    expect(events.hasListeners("backgroundFailure")).toBe(false);
  });
});

describe("metrics", () => {
  test("count what the events report", () => {
    const events = new Emitter();
    const metrics = new Metrics(events);
    for (let round = 0; round < 3; round++) events.emit("commit", commit);
    events.emit("conflict", {
      startTimestamp: 1,
      table: "t",
      row: "r",
      column: "c",
      onlyTable: "t",
      label: undefined,
      phases: 1,
      winnerTimestamp: 9,
      durationMs: 1,
      cause: undefined,
    });
    events.emit("run", run);
    events.emit("run", { ...run, outcome: "failed", delayMs: undefined });
    const snapshot = metrics.snapshot();
    expect(snapshot).toMatchObject({ commits: 3, cellsCommitted: 9, conflicts: 1 });
    expect(snapshot.observers.o?.runs).toMatchObject({ committed: 1, failed: 1, parked: 0 });
    expect(snapshot.observers.o?.delay.count).toBe(1);
    expect(snapshot.transactionDuration).toMatchObject({ count: 3, sum: 12, maximum: 4 });
    expect(snapshot.commitDuration).toMatchObject({ count: 3, sum: 3, p50: 1 });
  });

  test("count requests by kind and per commit, and prefetched cells by observer", () => {
    const events = new Emitter();
    const metrics = new Metrics(events);
    for (const kind of ["read", "read", "scan", "conditionalMutation", "plainMutation", "timestamp"] as const)
      events.emit("request", { kind });
    expect(metrics.snapshot().requests).toMatchObject({ total: 6, perTransaction: 0 });
    for (let round = 0; round < 4; round++) events.emit("commit", commit);
    events.emit("joined", { mutations: 5 });
    events.emit("prefetch", { observer: "o", hits: 3, misses: 1, wasted: 2 });
    events.emit("prefetch", { observer: "o", hits: 1, misses: 0, wasted: 0 });
    const { requests, observers } = metrics.snapshot();
    expect(requests).toEqual({
      read: 2,
      scan: 1,
      conditionalMutation: 1,
      plainMutation: 1,
      timestamp: 1,
      total: 6,
      joined: 4,
      perTransaction: 1.5,
    });
    expect(observers.o?.prefetch).toEqual({ hits: 4, misses: 1, wasted: 2 });
  });

  test("distributions keep the count and maximum of all samples, and percentiles of the newest", () => {
    const events = new Emitter();
    const metrics = new Metrics(events);
    for (let value = 1; value <= 5_000; value++) {
      events.emit("run", { ...run, durationMs: value, delayMs: undefined });
    }
    const { duration } = metrics.snapshot().observers.o!;
    expect(duration.count).toBe(5_000);
    expect(duration.maximum).toBe(5_000);
    expect(duration.sum).toBe((5_000 * 5_001) / 2);
    expect(duration.p50).toBeGreaterThan(3_976);
    expect(duration.p99).toBeGreaterThan(duration.p50);
  });

  test("distributions count the samples up to each bound", () => {
    const sampled = new SampledDistribution();
    for (const value of [0, 0.1, 0.11, 1, 999, 1_000, 3_600_000, 3_600_001]) sampled.add(value);
    const { upTo, count } = sampled.distribution();
    const at = (bound: number) => upTo[distributionBounds.indexOf(bound)];
    expect([at(0.1), at(0.25), at(1), at(500), at(1_000), at(3_600_000), count]).toEqual([
      2, 3, 4, 4, 6, 7, 8,
    ]);
  });
});
