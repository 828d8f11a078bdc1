import { expect, test } from "vitest";
import { TestEnvironment } from "../../../test/support/observer/environment.js";
import type { Worker, WorkerReadiness } from "../../observer/index.js";
import type { Cli } from "../cli.js";
import { ReadinessWatch } from "./readiness-watch.js";

const ready: WorkerReadiness = { isReady: true, isObsolete: false, reasons: [] };
const joining: WorkerReadiness = { isReady: false, isObsolete: false, reasons: ["It waits.", "So it is."] };
const obsolete: WorkerReadiness = { isReady: false, isObsolete: true, reasons: ["It was unregistered."] };

function watching(first: WorkerReadiness | Error) {
  const environment = new TestEnvironment();
  const ending = new AbortController();
  const watch = new ReadinessWatch({ environment, signal: ending.signal } as unknown as Cli);
  let said = first;
  const readiness = async () => {
    if (said instanceof Error) throw said;
    return said;
  };
  const begin = () => watch.untilObsolete({ readiness } as unknown as Worker);
  const say = async (next: WorkerReadiness | Error) => {
    said = next;
    await environment.advance(2_000);
  };
  return { environment, ending, watch, begin, say };
}

test("a worker is unready before its first answer, while it says so, and during its shutdown", async () => {
  const { environment, ending, watch, begin, say } = watching(joining);
  expect(watch.unready).toBe("The worker has not started yet.");
  const until = begin();
  await environment.settle();
  expect(watch.unready).toBe("It waits. So it is.");
  await say(ready);
  expect(watch.unready).toBeUndefined();
  ending.abort();
  expect(watch.unready).toBe("The worker is ending.");
  await environment.settle();
  expect(await until).toBeUndefined();
});

test("a worker that does not answer keeps its state", async () => {
  const { environment, ending, watch, begin, say } = watching(new Error("The store is away."));
  const until = begin();
  await environment.settle();
  expect(watch.unready).toBe("The worker has not started yet.");
  await say(ready);
  await say(new Error("The store is away."));
  expect(watch.unready).toBeUndefined();
  ending.abort();
  await environment.settle();
  await until;
});

test("a worker that may run nothing any more is reported with the reasons", async () => {
  const { begin, say, environment } = watching(ready);
  const until = begin();
  await environment.settle();
  await say(obsolete);
  expect(await until).toEqual(["It was unregistered."]);
});
