import { expect, test } from "vitest";
import { KeptTransactions, maxTransactions } from "./kept-transactions.js";

interface Each {
  readonly id: number;
  readonly outcome: "committed" | "conflict" | "rolled back";
  readonly durationMs: number;
  readonly endedAt: number;
}

const windowMs = 300_000;
const keeping = () => new KeptTransactions<Each>((each) => each, windowMs);
const commit = (id: number, durationMs: number, endedAt = id): Each => ({
  id,
  outcome: "committed",
  durationMs,
  endedAt,
});

test("what is slow, conflicts or fails is kept among thousands of quick commits", () => {
  const kept = keeping();
  kept.add(commit(1, 900));
  kept.add({ id: 2, outcome: "conflict", durationMs: 1, endedAt: 2 });
  kept.add({ id: 3, outcome: "rolled back", durationMs: 1, endedAt: 3 });
  for (let id = 4; id < 5_000; id++) kept.add(commit(id, id % 7));
  const ids = (list: Parameters<typeof kept.list>[0]) => kept.list(list, 5_000).map(({ id }) => id);
  expect(ids("slow")[0]).toBe(1);
  expect([ids("conflicts"), ids("failed")]).toEqual([[2], [3]]);
  expect(ids("recent")).toEqual(Array.from({ length: maxTransactions }, (_, index) => 4_999 - index));
  expect([...kept.all()].map(({ id }) => id)).toEqual(expect.arrayContaining([1, 2, 3, 4_999]));
});

test("the slow ones are sorted, bounded, and forgotten after the window", () => {
  const kept = keeping();
  const durations = Array.from({ length: 1_000 }, (_, index) => (index * 7_919) % 1_000);
  for (const [id, durationMs] of durations.entries()) kept.add(commit(id, durationMs));
  const slow = kept.list("slow", 1_000).map(({ durationMs }) => durationMs);
  expect(slow).toEqual(Array.from({ length: 200 }, (_, index) => 999 - index));
  for (let id = 0; id < 300; id++) kept.add(commit(id, 1_000 + id, windowMs + 2_000 + id));
  expect(kept.list("slow", windowMs + 2_300)).toHaveLength(200);
  expect(kept.list("slow", windowMs + 2_300).every(({ durationMs }) => durationMs >= 1_100)).toBe(true);
  expect(kept.list("slow", 3 * windowMs)).toEqual([]);
});

test("the slow ones after an incident are kept, although all of it were slower", () => {
  const kept = keeping();
  for (let id = 0; id < 200; id++) kept.add(commit(id, 5_000));
  kept.add(commit(200, 100));
  expect(kept.list("slow", 200)).toHaveLength(200);
  for (let id = 0; id < 300; id++) kept.add(commit(id, 100, 2 * windowMs + id));
  expect(kept.list("slow", 2 * windowMs + 300).map(({ durationMs }) => durationMs)).toEqual(
    Array(200).fill(100),
  );
  // Those of the incident's end are still in the window when its beginning is forgotten.
  const later = keeping();
  for (let id = 0; id < 200; id++) later.add(commit(id, 5_000, id * 1_000));
  later.add(commit(200, 100, windowMs + 50_000));
  expect(later.list("slow", windowMs + 50_000)).toHaveLength(150);
});

test("all lists are bounded", () => {
  const kept = keeping();
  for (let id = 0; id < 10_000; id++)
    kept.add({
      ...commit(id, id % 3),
      outcome: (["committed", "conflict", "rolled back"] as const)[id % 3]!,
    });
  expect(kept.all().size).toBeLessThan(2 * maxTransactions + 5 * 200);
  expect(kept.list("failed", 10_000)).toHaveLength(200);
});
