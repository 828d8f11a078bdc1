import { describe, expect, it } from "vitest";
import { InvalidValueError, LimitExceededError, StoreError } from "../../../errors/index.js";
import { isTooLarge, reasonOf, stateOf } from "./park.js";

/** The same error of another copy of the library. */
function copied<E extends Error>(error: E): Error {
  const { message, cause, ...own } = { ...error, message: error.message, cause: error.cause };
  return Object.assign(new Error(message, { cause }), own);
}

describe.each([
  ["this copy of the library", (error: Error) => error],
  ["another copy", copied],
])("errors of %s", (_, of) => {
  it("that refuse a value park the table", () => {
    expect(reasonOf("shop.orders", of(new InvalidValueError("It is no number")))).toBe(
      "A row of shop.orders does not fit its declaration: It is no number.",
    );
  });

  it("of the server are told by their SQLSTATE", () => {
    const cause = Object.assign(new Error("permission denied"), { code: "42501" });
    const error = of(new StoreError("Reading failed.", { cause }));
    expect(stateOf(error)).toBe("42501");
    expect(reasonOf("shop.orders", error)).toBe("Rows of shop.orders cannot be read: Reading failed.");
    expect(reasonOf("shop.orders", of(new StoreError("It is away.")))).toBeUndefined();
  });

  it("of a row of which the server cannot make JSON park the table", () => {
    for (const [code, message] of [
      ["54000", "out of memory"],
      ["XX000", "invalid memory alloc request size 1080000003"],
    ]) {
      const error = of(new StoreError(`Reading failed: ${message}.`, { cause: { code } }));
      expect(reasonOf("shop.orders", error)).toBe(
        `A row of shop.orders has more JSON than PostgreSQL can make, 1 GB: Reading failed: ${message}.`,
      );
    }
    const other = of(new StoreError("Reading failed.", { cause: { code: "XX000" } }));
    expect(reasonOf("shop.orders", other)).toBeUndefined();
  });

  it("of a transaction that is too large make it smaller", () => {
    expect(isTooLarge(of(new LimitExceededError("Too large.")))).toBe(true);
    expect(isTooLarge(of(new StoreError("It is away.")))).toBe(false);
  });
});
