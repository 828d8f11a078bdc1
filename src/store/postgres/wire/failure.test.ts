import { expect, test } from "vitest";
import { QueryFailure, storeError } from "./failure.js";

test("the error of a host with two addresses says why", () => {
  // What Node gives for `localhost` (::1 and 127.0.0.1) if no server runs: an AggregateError without a message.
  const refused = (address: string) =>
    Object.assign(new Error(`connect ECONNREFUSED ${address}`), { code: "ECONNREFUSED" });
  const cause = Object.assign(new AggregateError([refused("::1:5432"), refused("127.0.0.1:5432")]), {
    code: "ECONNREFUSED",
  });
  const { message } = storeError(
    new QueryFailure(cause, false),
    "ask for its version",
    "postgres://localhost/shop",
  );
  expect(message).toContain("ECONNREFUSED");
  expect(message).not.toContain(": . ");
});
