import { expect, test } from "vitest";
import { storeError } from "./errors.js";

const ioError = Object.assign(new Error("Input/output error"), { code: 5 });

test.each([
  ["write", "STORE_FULL", "Most likely no space is left"],
  ['read a row of table "t"', "STORE", "The disk failed to read. Check the disk."],
])("an input/output error says what to do: %s", (doing, code, advice) => {
  const error = storeError(ioError, "./data", doing);
  expect(error).toMatchObject({ code, cause: ioError });
  expect(error.message).toContain(advice);
});
