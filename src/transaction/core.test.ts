import { expect, test } from "vitest";
import { bareContext } from "../../test/support/context.js";
import { memoryStore } from "../store/memory/index.js";
import { StepHooks } from "../testing/index.js";
import { CoreTransaction } from "./core.js";

const write = { table: "t", row: Buffer.from("a"), column: Buffer.from("c"), value: Buffer.from("v") };

test("a second commit while the first is under way changes nothing about the first", async () => {
  const hooks = new StepHooks();
  const context = bareContext(memoryStore(), { commit: "two-phase" }, hooks);
  const pause = hooks.pauseBefore("commit-primary");
  const told: unknown[] = [];
  context.events.on("commit", ({ onlyTable }) => told.push(`commit ${onlyTable}`));
  context.events.on("rollback", () => told.push("rollback"));
  const tx = await CoreTransaction.begin(context, { onEnd: () => told.push("end") });
  tx.write(write);
  const first = tx.commit();
  await expect(tx.commit()).rejects.toMatchObject({ code: "CLOSED" });
  expect([told, context.active.oldest()]).toEqual([[], tx.startTimestamp]);
  pause.resume();
  await first;
  expect(told).toEqual(["commit t", "end"]);
});

test("an onCommit function that rejects is reported, and the next one is called", async () => {
  const context = bareContext(memoryStore());
  const failures: unknown[] = [];
  context.events.on("backgroundFailure", (failure) => failures.push(failure));
  const tx = await CoreTransaction.begin(context);
  let calls = 0;
  const error = new Error("The mail was not sent.");
  const rejects: () => unknown = () => Promise.reject(error);
  tx.onCommit(rejects);
  tx.onCommit(() => calls++);
  tx.write(write);
  await tx.commit();
  await new Promise(setImmediate);
  expect([calls, failures]).toEqual([1, [{ doing: "An onCommit function", error }]]);
});
