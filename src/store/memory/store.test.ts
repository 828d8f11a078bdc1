import { expect, test } from "vitest";
import { systemEnvironment } from "../../environment/index.js";
import { memoryStore } from "./store.js";

test("a clock after the year 2255 gives no timestamp, and leaves the counter as it is", async () => {
  let now = Date.UTC(2300);
  const { atomic } = memoryStore({ environment: { ...systemEnvironment, now: () => now } });
  await expect(atomic!.next()).rejects.toMatchObject({ code: "LIMIT_EXCEEDED" });
  await expect(atomic!.commit({ rows: [] })).rejects.toMatchObject({ code: "LIMIT_EXCEEDED" });
  now = 1_000;
  expect(await atomic!.next()).toBe(1_000_000);
});

test("a page of no cells is refused, because a reader would continue it forever", () => {
  for (const pageCells of [0, -1, 0.5, Number.NaN])
    expect(() => memoryStore({ pageCells })).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
});
