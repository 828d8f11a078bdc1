import { expect, test } from "vitest";
import { BoundedTasks } from "./bounded-tasks.js";

test("at most so many tasks run at once, and a failure comes after all have ended", async () => {
  const tasks = new BoundedTasks(3);
  let [running, most, done] = [0, 0, 0];
  const task = async (isToFail: boolean) => {
    most = Math.max(most, ++running);
    await new Promise((resolve) => setImmediate(resolve));
    running--;
    done++;
    if (isToFail) throw new Error("no");
  };
  for (let begun = 0; begun < 10; begun++) await tasks.begin(() => task(false));
  await tasks.end();
  expect([running, most, done]).toEqual([0, 3, 10]);

  await tasks.begin(() => task(true));
  await tasks.begin(() => task(false));
  await expect(tasks.end()).rejects.toThrow("no");
  expect([running, done]).toEqual([0, 12]);
  expect(() => tasks.begin(() => task(false))).toThrow("no");
  await new BoundedTasks(1).end();
});
