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

test.each([
  ["EACCES", -13, "STORE", "Check the permissions of the folder and of the files in it."],
  ["EROFS", -30, "STORE", "The file system is read-only."],
  ["ENOSPC", -28, "STORE_FULL", "Free space and try again."],
])("an error of Node's own calls says what to do as well: %s", (code, errno, expected, advice) => {
  const cause = Object.assign(new Error(`${code}: open 'data.mdb'`), { code, errno });
  const error = storeError(cause, "./data", "be opened");
  expect(error).toMatchObject({ code: expected, cause });
  expect(error.message).toContain(advice);
});
