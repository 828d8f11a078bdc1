import { beforeEach, expect, test } from "vitest";
import { TestEnvironment } from "../../../test/support/observer/environment.js";
import { memoryStore } from "../../store/memory/index.js";
import { CommitWatcher, watchCommits } from "./commit-watcher.js";

let environment: TestEnvironment;
let counter: number | Error;
let isQuiet: boolean;
let looks: number;
let moved: number;
let watch: CommitWatcher;

beforeEach(() => {
  environment = new TestEnvironment();
  [counter, isQuiet, looks, moved] = [1, true, 0, 0];
  watch = new CommitWatcher({
    environment,
    counter: () => {
      looks++;
      if (counter instanceof Error) throw counter;
      return counter;
    },
    isQuiet: () => isQuiet,
    onMoved: () => moved++,
  });
});

test("it notices a commit of another process within 50 ms, and looks every 5 ms while more come", async () => {
  await environment.advance(1_000);
  expect(moved).toBe(0);
  counter = 2;
  await environment.advance(50);
  expect(moved).toBe(1);
  for (let commit = 3; commit <= 202; commit++) {
    counter = commit;
    await environment.advance(1);
  }
  expect(moved).toBeGreaterThanOrEqual(1 + 150 / 5);
});

test("it looks less often while nothing happens", async () => {
  await environment.advance(1_000);
  const before = looks;
  await environment.advance(1_000);
  expect(looks - before).toBe(20);
});

test("a process's own running observers do not trigger it", async () => {
  await environment.advance(10);
  isQuiet = false;
  counter = 2;
  await environment.advance(50);
  isQuiet = true;
  await environment.advance(50);
  expect(moved).toBe(0);
});

test("it tries again if the counter cannot be read", async () => {
  await environment.advance(10);
  counter = new Error("the disk is away");
  await environment.advance(100);
  counter = 2;
  await environment.advance(50);
  expect(moved).toBe(1);
});

test("it stops looking after the stop", async () => {
  watch.stop();
  await environment.advance(1_000);
  expect(looks).toBe(0);
});

test("it does not watch a store that no other process can write to", () => {
  const options = { environment, isQuiet: () => true, onMoved: () => {} };
  expect(watchCommits(memoryStore(), options)).toBeUndefined();
});
