import { describe, expect, test } from "vitest";
import * as errors from "./index.js";

type ErrorClass = new (message: string) => errors.PercolatorError;

const classes = Object.values<unknown>(errors).filter(
  (value): value is ErrorClass =>
    typeof value === "function" && value.prototype instanceof errors.PercolatorError,
);

describe("errors", () => {
  test("each has its own code, its class's name, and the given message and cause", () => {
    const codes = classes.map((Class) => new Class("message").code);
    expect(new Set(codes).size).toBe(classes.length);
    for (const Class of classes) {
      const error = new Class("what, where, what to do");
      expect(error.name).toBe(Class.name);
      expect(error.message).toBe("what, where, what to do");
      expect(error).toBeInstanceOf(Error);
    }
    expect(new errors.StoreError("x", { cause: 1 }).cause).toBe(1);
    expect("cause" in new errors.StoreError("x")).toBe(false);
  });

  test("an error is retryable only if a repeated call may succeed", () => {
    const retryable = classes.filter((Class) => new Class("x").retryable).map((Class) => Class.name);
    expect(retryable.sort()).toEqual([
      "ConflictError",
      "NotLeaderError",
      "OracleUnavailableError",
      "StaleSnapshotError",
    ]);
  });

  test("the errors of stores are StoreErrors", () => {
    for (const Class of [
      errors.StoreFullError,
      errors.StoreMovedError,
      errors.StoreChangedError,
      errors.StoreDamagedError,
      errors.StoreVersionError,
    ]) {
      expect(new Class("x")).toBeInstanceOf(errors.StoreError);
    }
  });

  test("a broken assumption says that it is a defect", () => {
    expect(() => errors.assert(false, "one is two")).toThrow(/one is two.*defect/);
    expect(() => errors.assert(1, "fine")).not.toThrow();
  });
});
