import { expect, test } from "vitest";
import { TestMachine, TestWorld } from "../../../../test/support/oracle/world.js";
import { InternalError, NotLeaderError } from "../../../errors/index.js";
import type { TimestampRange } from "../../../oracle/index.js";
import { electedOracle } from "./elected.js";

type Behaviour = "leads" | "silent" | "fails" | "broken" | { readonly pointsTo: string | undefined };

/** Candidates whose behaviour a test decides. */
function several(names: readonly string[]) {
  const world = new TestWorld();
  const environment = new TestMachine(world);
  const behaviour = new Map<string, Behaviour>(names.map((name) => [name, { pointsTo: undefined }]));
  const asked: string[] = [];
  let last = 0;
  const answer = async (name: string): Promise<number> => {
    asked.push(name);
    const how = behaviour.get(name)!;
    if (how === "silent") return await new Promise<never>(() => undefined);
    if (how === "fails") throw new Error("connection refused");
    if (how === "broken") throw new InternalError("broken");
    if (how !== "leads") throw new NotLeaderError("not I", { leader: how.pointsTo });
    return ++last;
  };
  const candidates = names.map((name) => ({
    name,
    request: async (count: number): Promise<TimestampRange> => ({ first: await answer(name), count }),
  }));
  const oracle = electedOracle({ candidates, environment, retryForMs: 5_000 });
  return { world, behaviour, asked, oracle };
}

test("it stays with the leader, and follows to a leader that is named", async () => {
  const { behaviour, asked, oracle } = several(["a", "b", "c"]);
  behaviour.set("a", { pointsTo: "c" }).set("c", "leads");
  expect(await oracle.next()).toBe(1);
  expect(await oracle.next()).toBe(2);
  expect(asked).toEqual(["a", "c", "c"]);
  behaviour.set("c", { pointsTo: "b" }).set("b", "leads");
  expect(await oracle.next()).toBe(3);
  expect(await oracle.next()).toBe(4);
  expect(asked.slice(3)).toEqual(["c", "b", "b"]);
});

test("candidates that fail or do not answer are skipped, and each is asked once a round", async () => {
  const { world, behaviour, asked, oracle } = several(["a", "b", "c"]);
  behaviour.set("a", "fails").set("b", "silent").set("c", "leads");
  expect(await world.until(oracle.next())).toBe(1);
  expect(asked).toEqual(["a", "b", "c"]);
  expect(world.passedMs).toBeGreaterThanOrEqual(2_000);
  // The oracle does not ask two candidates forever if each names the other one as leader.
  behaviour.set("c", { pointsTo: "a" }).set("a", { pointsTo: "c" }).set("b", { pointsTo: "nobody" });
  const next = oracle.next();
  await world.settle();
  expect(asked.slice(3)).toEqual(["c", "a", "b"]);
  behaviour.set("b", "leads");
  expect(await world.until(next)).toBe(2);
});

test("if there is no leader it keeps trying for a time, and then reports that", async () => {
  const { world, oracle } = several(["a", "b"]);
  const failure = await world.until(Promise.resolve(oracle.next()).catch((error: unknown) => error));
  expect(failure).toMatchObject({ code: "ORACLE_UNAVAILABLE", retryable: true });
  expect(failure).toHaveProperty("cause.code", "NOT_LEADER");
  expect(world.passedMs).toBeGreaterThanOrEqual(5_000);
  expect(world.passedMs).toBeLessThan(8_000);
});

test("a permanent failure is not skipped", async () => {
  const { behaviour, asked, oracle } = several(["a", "b"]);
  behaviour.set("a", "broken").set("b", "leads");
  await expect(oracle.next()).rejects.toThrow("broken");
  expect(asked).toEqual(["a"]);
});

test("up to a hundred candidates, each with its own name", () => {
  const names = Array.from({ length: 101 }, (_, i) => `candidate ${i}`);
  expect(() => several(names.slice(1))).not.toThrow();
  for (const refused of [names, [], ["a", "a"]])
    expect(() => several(refused)).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
});

test("closing ends running requests", async () => {
  const { behaviour, oracle } = several(["a"]);
  behaviour.set("a", "silent");
  const asked = oracle.next();
  oracle.close();
  await expect(asked).rejects.toMatchObject({ code: "CLOSED" });
});

test("there must be candidates, and their names must differ", () => {
  expect(() => several([])).toThrow(/1 to 100/);
  expect(() => several(["a", "a"])).toThrow(/the same name/);
});
