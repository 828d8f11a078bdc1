import { expect, test } from "vitest";
import { TestClock } from "../../testing/index.js";
import { SharedAnswers } from "./shared-answers.js";

test("all who ask a question share its answer, until it is old or forgotten", async () => {
  const clock = new TestClock();
  const found: string[] = [];
  const answers = new SharedAnswers(clock.process(), 1_000, async ({ of }: { readonly of: string }) => {
    found.push(of);
    return found.length;
  });
  expect(await Promise.all(["a", "a", "b"].map((of) => answers.get({ of })))).toEqual([1, 1, 2]);
  await clock.advance(1_000);
  expect(await answers.get({ of: "a" })).toBe(3);
  answers.forget();
  expect(await answers.get({ of: "a" })).toBe(4);
  expect(found).toEqual(["a", "b", "a", "a"]);
});

test("only the answers to the last questions are kept", async () => {
  let count = 0;
  const answers = new SharedAnswers(new TestClock().process(), 1_000, async (_: number) => ++count);
  for (let question = 0; question <= 16; question++) await answers.get(question);
  expect(await answers.get(1)).toBe(2);
  expect(await answers.get(0)).toBe(18);
  // 2 was asked longer ago than 1.
  expect(await answers.get(1)).toBe(2);
  expect(await answers.get(2)).toBe(19);
});
