import { describe, expect, it } from "vitest";
import type { DatabaseStatus } from "../../database/index.js";
import { examineStore, type StoreFacts } from "./store.js";

const nowMs = 1_700_000_000_000;
const status: DatabaseStatus = {
  store: "a store",
  statistics: { bytes: 10, mapBytes: 16, maxMapBytes: 1_000, readers: 1, maxReaders: 100 },
  commit: "one-phase",
  retentionMs: 3_600_000,
  latestTimestamp: nowMs * 1_000,
  safepoint: 0,
  safepointAgeMs: undefined,
  sessions: new Map(),
  silent: new Map(),
  expiries: [],
  coordinator: undefined,
};
const facts: StoreFacts = { status, assignsTimestamps: true, nowMs, timestamp: nowMs * 1_000 };

const bad = (changed: Partial<StoreFacts>, changedStatus: Partial<DatabaseStatus> = {}) =>
  examineStore({ ...facts, ...changed, status: { ...status, ...changedStatus } })
    .filter(({ state }) => state !== "ok")
    .map(({ check, state }) => `${check}: ${state}`);

describe("findings on a store", () => {
  it("are empty if there is no problem", () => {
    expect(bad({})).toEqual([]);
    expect(bad({ timestamp: (nowMs - 1e9) * 1_000 })).toEqual([]);
  });

  it("report limits that are near", () => {
    // The map grows by itself, so the doctor does not warn about a nearly full map.
    expect(bad({}, { statistics: { bytes: 900, mapBytes: 1_000, maxMapBytes: 2 ** 47 } })).toEqual([]);
    expect(bad({}, { statistics: { bytes: 900, maxMapBytes: 1_000, readers: 99, maxReaders: 100 } })).toEqual(
      ["map size: warning", "readers: problem"],
    );
    expect(bad({}, { statistics: { timesMended: 1 } })).toEqual(["mending: warning"]);
  });

  it("say how much of a large file is free", () => {
    const freeIn = (statistics: Record<string, number>) =>
      examineStore({ ...facts, status: { ...status, statistics } })
        .filter(({ check }) => check === "free pages")
        .map(({ what }) => what);
    const bytes = 2 ** 30;
    expect(freeIn({ bytes, pageBytes: 4_096, pagesFree: 200_000 })).toEqual([
      expect.stringMatching(/^781\.3 MiB of the 1\.0 GiB of the file are free.*percolator compact/),
    ]);
    expect(freeIn({ bytes, pageBytes: 4_096, pagesFree: 100_000 })).toEqual([]);
    expect(freeIn({ bytes: 2 ** 20, pageBytes: 4_096, pagesFree: 250 })).toEqual([]);
    expect(freeIn({ bytes })).toEqual([]);
  });

  it("report tables that nobody sweeps", () => {
    const expiry = { table: "logins", ttlMs: { token: 3_600_000 }, sweptAt: undefined, expired: 0 };
    const due = (agoMs: number) => ({ expiries: [{ ...expiry, dueAt: new Date(nowMs - agoMs) }] });
    expect(bad({}, due(-1))).toEqual([]);
    expect(bad({}, due(9 * 60_000))).toEqual([]);
    expect(bad({}, due(11 * 60_000))).toEqual(["expiry of logins: warning"]);
  });

  it("report clocks that differ", () => {
    expect(bad({ timestamp: (nowMs + 10_000) * 1_000 })).toEqual(["clock: warning"]);
    expect(bad({ timestamp: (nowMs + 3_600_000) * 1_000 })).toEqual(["clock: problem"]);
    const led = {
      coordinator: {
        leader: "h:1",
        epoch: 1,
        answers: true,
        sessions: new Set<string>(),
        busy: new Set<string>(),
      },
    };
    expect(bad({ timestamp: (nowMs - 3_600_000) * 1_000, assignsTimestamps: false }, led)).toEqual([
      "clock: problem",
    ]);
    const ahead = new Map([["s", { observers: {}, expires: nowMs + 3_600_000, process: "p" }]]);
    expect(bad({}, { sessions: ahead })).toEqual(["clock: problem"]);
  });

  it("report a coordinator that is needed and missing", () => {
    const led = { leader: "h:1", epoch: 1, answers: false, sessions: undefined, busy: undefined };
    expect(bad({ assignsTimestamps: false })).toEqual(["coordinator: problem"]);
    expect(bad({ assignsTimestamps: false }, { coordinator: led })).toEqual(["coordinator: problem"]);
    expect(bad({}, { coordinator: led })).toEqual(["coordinator: warning"]);
  });

  it("report a safepoint that no process moves", () => {
    expect(bad({}, { safepointAgeMs: 3_600_000 })).toEqual([]);
    expect(bad({}, { safepointAgeMs: 86_400_000 })).toEqual(["safepoint: warning"]);
  });
});
