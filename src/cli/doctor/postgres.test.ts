import { expect, it } from "vitest";
import { budgetFinding } from "./postgres.js";

it("the connection budget leaves out all reserved connections", () => {
  const facts = {
    connections: { perProcess: 9, used: 0 },
    settings: {
      max_connections: "100",
      superuser_reserved_connections: "3",
      reserved_connections: "20",
    },
  } as never;
  expect(budgetFinding(facts, 8).state).toBe("ok");
  expect(budgetFinding(facts, 10)).toMatchObject({
    state: "warning",
    what: expect.stringContaining("90 of 77"),
  });
});
