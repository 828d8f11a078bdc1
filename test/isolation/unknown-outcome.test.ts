import { CommitOutcomeUnknownError, StoreError } from "percolatordb";
import { openWithHooks, StepHooks } from "percolatordb/testing";
import { expect, test } from "vitest";
import { numbers } from "./recorded.js";

test("a commit with an unknown outcome is not reported as aborted, even if its signal was aborted meanwhile", async () => {
  const hooks = new StepHooks();
  const controller = new AbortController();
  await using db = await openWithHooks("memory:", { tables: [numbers], hooks });
  hooks.once("one-phase-commit", async (run) => {
    await run();
    controller.abort();
    return { answer: "unknown" };
  });
  const { signal } = controller;
  const committing = db.transact((tx) => tx.set(numbers.value, "1", 1), { signal });
  await expect(committing).rejects.toThrow(CommitOutcomeUnknownError);
});

test("a commit with an unknown outcome gives the reason, if the store knows it", async () => {
  const hooks = new StepHooks();
  await using db = await openWithHooks("memory:", { tables: [numbers], hooks });
  const cause = new StoreError("The disk is on fire.");
  hooks.once("one-phase-commit", async () => ({ answer: "unknown", cause }));
  const committing = db.transact((tx) => tx.set(numbers.value, "1", 1));
  await expect(committing).rejects.toMatchObject({
    code: "COMMIT_OUTCOME_UNKNOWN",
    message: expect.stringContaining("The disk is on fire"),
    cause,
  });
});

test("a delayed commit that cannot be decided meanwhile has an unknown outcome", async () => {
  const hooks = new StepHooks();
  await using db = await openWithHooks("memory:", { tables: [numbers], hooks, commit: "two-phase" });
  let arrive: () => Promise<unknown> = async () => {};
  hooks.once("commit-primary", async (run) => {
    arrive = run;
    return "unknown";
  });
  hooks.once("rollback-primary", async () => {
    throw new StoreError("The store is out of reach.");
  });
  const tx = await db.begin();
  tx.set(numbers.value, "1", 1);
  const error: unknown = await tx.commit().catch((thrown: unknown) => thrown);
  await arrive();
  await using snapshot = await db.snapshot();
  expect(await snapshot.get(numbers.value, "1")).toBe(1);
  expect(error).toBeInstanceOf(CommitOutcomeUnknownError);
  expect((error as Error).cause).toBeInstanceOf(StoreError);
});
