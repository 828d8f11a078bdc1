import { expect, test } from "vitest";
import { StoreError } from "./errors.js";
import { messageOf } from "./message-of.js";

const coded = (message: string, code: string) => Object.assign(new Error(message), { code });

test.each<[what: string, thrown: unknown, message: string]>([
  ["an error", new Error("plain"), "plain"],
  [
    "a cause",
    new TypeError("fetch failed", { cause: coded("connect", "ECONNREFUSED") }),
    "fetch failed, caused by Error [ECONNREFUSED]: connect",
  ],
  [
    "a cause that names its code",
    new TypeError("fetch failed", { cause: coded("connect ECONNREFUSED ::1:1", "ECONNREFUSED") }),
    "fetch failed, caused by Error: connect ECONNREFUSED ::1:1",
  ],
  [
    "several errors",
    new AggregateError([new Error("a"), new RangeError("b"), "c", "d", "e"], "all failed"),
    "all failed: Error: a; RangeError: b; c; and 2 more",
  ],
  [
    "a cause with several errors and no message",
    new TypeError("fetch failed", {
      cause: Object.assign(new AggregateError([new Error("::1"), new Error("127.0.0.1")]), {
        code: "ECONNREFUSED",
      }),
    }),
    "fetch failed, caused by AggregateError [ECONNREFUSED]: Error: ::1; Error: 127.0.0.1",
  ],
  ["an object", { code: "E", message: "of an object" }, "{ code: 'E', message: 'of an object' }"],
  ["a text", "only a text", "only a text"],
  ["nothing", undefined, "undefined"],
  ["null", null, "null"],
  [
    "an error of this package, whose message has its cause",
    new StoreError("PostgreSQL said no.", { cause: new Error("no") }),
    "PostgreSQL said no.",
  ],
])("the message of %s", (_, thrown, message) => {
  expect(messageOf(thrown)).toBe(message);
});

test("a chain of causes ends, also if it is a circle", () => {
  const first = new Error("first");
  const second = new Error("second", { cause: first });
  first.cause = second;
  expect(messageOf(first)).toBe(
    "first, caused by Error: second, caused by Error: first, caused by Error: second, caused by Error: first",
  );
});
