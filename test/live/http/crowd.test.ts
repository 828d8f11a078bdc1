import { test } from "vitest";
import { serveCrowd } from "./support/crowd.js";

test("300 clients, half of them slow or dying: the others are served, and nothing is left of any", async () => {
  await serveCrowd({ healthy: 150, slow: 30, dying: 120 }, "300 clients");
});
