import { expect, test } from "vitest";
import { TestEnvironment } from "../../../test/support/observer/environment.js";
import { maxTurnMs, SuspectTurns } from "./suspect-turns.js";

/** Runs that begin in their turn and last until they are ended. */
function record(environment = new TestEnvironment()) {
  const turns = new SuspectTurns(environment);
  const log: string[] = [];
  const ends = new Map<string, (error?: Error) => void>();
  const start = (kind: "beside" | "alone", name: string) =>
    turns[kind](() => {
      log.push(name);
      return new Promise<void>((resolve, reject) => {
        ends.set(name, (error) => (error === undefined ? resolve() : reject(error)));
      });
    });
  return { log, start, end: (name: string, error?: Error) => ends.get(name)!(error) };
}

const settle = () => new Promise((resolve) => setImmediate(resolve));

test("runs are beside one another, or alone, in the order in which they come", async () => {
  const { log, start, end } = record();
  const runs = [start("beside", "a"), start("beside", "b"), start("alone", "c"), start("alone", "d")];
  await settle();
  runs.push(start("beside", "e"), start("beside", "f"), start("alone", "g"));
  await settle();
  expect(log).toEqual(["a", "b"]);
  end("a");
  await settle();
  expect(log).toEqual(["a", "b"]);
  end("b");
  await settle();
  expect(log).toEqual(["a", "b", "c"]);
  end("c");
  await settle();
  expect(log).toEqual(["a", "b", "c", "d"]);
  end("d");
  await settle();
  expect(log).toEqual(["a", "b", "c", "d", "e", "f"]);
  end("f");
  end("e");
  await settle();
  expect(log.at(-1)).toBe("g");
  end("g");
  await Promise.all(runs);
});

test("a run that fails ends its turn, and only its caller hears of it", async () => {
  const { start, end } = record();
  const failed = [start("beside", "a"), start("alone", "b")].map((run) => run.catch(String));
  const after = [start("alone", "c"), start("beside", "d")];
  for (const name of ["a", "b", "c", "d"]) {
    await settle();
    end(name, name < "c" ? new Error(name) : undefined);
  }
  expect(await Promise.all(failed)).toEqual(["Error: a", "Error: b"]);
  expect(await Promise.all(after)).toEqual([undefined, undefined]);
});

test("a run that hangs keeps the others waiting only for a while", async () => {
  const environment = new TestEnvironment();
  const { log, start } = record(environment);
  for (const kind of ["beside", "alone", "beside"] as const) void start(kind, kind);
  await environment.advance(maxTurnMs - 1);
  expect(log).toEqual(["beside"]);
  await environment.advance(1);
  expect(log).toEqual(["beside", "alone"]);
  await environment.advance(maxTurnMs);
  expect(log).toEqual(["beside", "alone", "beside"]);
});
