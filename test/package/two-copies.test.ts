import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import type * as copied from "../../src/errors/errors.js";
import * as errors from "../../src/errors/index.js";

const path = fileURLToPath(new URL("../../src/errors/errors.ts", import.meta.url));
const copy = (await import(/* @vite-ignore */ `${path}?copy`)) as typeof copied;

/** A program and one of its packages may each bring a copy of this package. */
test("errors of another copy of the package are PercolatorErrors, and are told apart by their code", () => {
  const error = new copy.StoreFullError("full");
  expect(error).not.toBeInstanceOf(errors.StoreFullError);
  expect(error).toBeInstanceOf(errors.PercolatorError);
  expect(new errors.ConflictError("lost")).toBeInstanceOf(copy.PercolatorError);
  expect(new errors.ConflictError("lost")).toBeInstanceOf(errors.ConflictError);
  expect(error).toBeInstanceOf(copy.StoreError);
  expect(new copy.StoreError("x")).not.toBeInstanceOf(copy.StoreFullError);
  for (const other of [new Error("x"), { code: "STORE" }, undefined, null, "STORE"]) {
    expect(other instanceof errors.PercolatorError).toBe(false);
  }
});
