import { expect, test } from "vitest";
import { Turns } from "./turns.js";

test("another request gets a turn only after steps that took long", async () => {
  let now = 0;
  const turns = new Turns(() => now);
  const step = (ms: number) =>
    turns.run(() => {
      now += ms;
      return ms;
    });
  let others = 0;
  const count = () => {
    others++;
  };
  setImmediate(count);
  expect(step(4)).toBe(4);
  now += 100; // Others compute.
  await turns.pass();
  expect(others).toBe(0);
  step(1);
  await turns.pass();
  expect(others).toBe(1);
  setImmediate(count);
  step(4);
  await turns.pass();
  expect(others).toBe(1);
});

test("a step that fails counts too", async () => {
  let now = 0;
  const turns = new Turns(() => now);
  const fails = () =>
    turns.run(() => {
      now += 9;
      throw new Error("broken page");
    });
  expect(fails).toThrow("broken page");
  let others = 0;
  setImmediate(() => {
    others++;
  });
  await turns.pass();
  expect(others).toBe(1);
});
