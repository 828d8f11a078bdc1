import { expect, test } from "vitest";
import { AbortedError } from "../errors/index.js";
import { OneAtATime } from "./one-at-a-time.js";

const turns = async () => {
  for (let n = 0; n < 10; n++) await Promise.resolve();
};

test("tasks behind an aborted waiting task do not begin too early", async () => {
  const line = new OneAtATime();
  const begun: string[] = [];
  let endFirst = () => {};
  const first = line.run(
    () => {
      begun.push("first");
      return new Promise<void>((resolve) => {
        endFirst = resolve;
      });
    },
    undefined,
    "the first",
  );
  const giveUp = new AbortController();
  const givenUp = line.run(async () => void begun.push("given up"), giveUp.signal, "the second");
  const last = line.run(async () => begun.push("last"), undefined, "the last");
  giveUp.abort();
  await expect(givenUp).rejects.toThrow(AbortedError);
  await turns();
  expect(begun).toEqual(["first"]);
  endFirst();
  await Promise.all([first, last]);
  expect(begun).toEqual(["first", "last"]);
});

test("the tasks behind a failed task begin", async () => {
  const line = new OneAtATime();
  const failing = line.run(() => Promise.reject(new Error("no")), undefined, "the first");
  const next = line.run(async () => "done", undefined, "the second");
  await expect(failing).rejects.toThrow("no");
  expect(await next).toBe("done");
});
