import { expect, test } from "vitest";
import {
  type RegisteredObserver,
  type RegistryCell,
  type RegistryView,
  registryOf,
} from "../../observer/index.js";
import { RegistrationGrace } from "./grace.js";

const bytes = (value: unknown) => Buffer.from(typeof value === "string" ? value : JSON.stringify(value));

function registered(since: number): RegistryView {
  const row = bytes("registry/observer/o");
  const cells: readonly RegistryCell[] = [
    {
      row,
      column: bytes("definition"),
      commit: since,
      value: bytes({ table: "t", column: "c", kind: "column" }),
    },
    { row, column: bytes("version"), commit: since, value: bytes({ version: 1, recordedAt: 0 }) },
  ];
  return registryOf(since, cells);
}

const observerOf = (view: RegistryView): RegisteredObserver => view.observers.get("o")!;

function graceOf(graceMs: number) {
  const world = { now: 1_000, newest: 10 };
  const grace = new RegistrationGrace({ graceMs, now: () => world.now, newestTimestamp: () => world.newest });
  return { world, grace };
}

test("a new observer must have its hints from the newest timestamp at the time when all processes know it", () => {
  const { world, grace } = graceOf(50);
  const view = registered(10);
  grace.begin(view);
  world.now += 49;
  world.newest = 9_000_000;
  grace.passTime();
  expect(grace.knownFrom(observerOf(view))).toBe(Number.POSITIVE_INFINITY);
  world.now += 1;
  grace.passTime();
  world.newest = 9_000_001;
  grace.passTime();
  expect(grace.knownFrom(observerOf(view))).toBe(9_000_000);
});

test("if there is no time to wait, or it existed before, its registration counts", () => {
  const { grace } = graceOf(0);
  const view = registered(10);
  grace.begin(view);
  expect(grace.knownFrom(observerOf(view))).toBe(10);
  const old = graceOf(50).grace;
  old.adopt(view);
  old.begin(view);
  expect(old.knownFrom(observerOf(view))).toBe(10);
});

test("an observer that was removed and registered again is new", () => {
  const { world, grace } = graceOf(50);
  grace.adopt(registered(10));
  const again = registered(30);
  grace.begin(again);
  expect(grace.knownFrom(observerOf(again))).toBe(Number.POSITIVE_INFINITY);
  world.now += 50;
  world.newest = 40;
  grace.passTime();
  expect(grace.knownFrom(observerOf(again))).toBe(40);
});
