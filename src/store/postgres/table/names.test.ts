import { expect, test } from "vitest";
import { InvalidArgumentError } from "../../../errors/index.js";
import { postgresStore } from "../open.js";
import { quoteSchema, quoteText } from "./names.js";

test.each([
  ["", "must have 1 to 63 bytes"],
  ["x".repeat(64), "must have 1 to 63 bytes"],
  ["ä".repeat(32), "must have 1 to 63 bytes"],
  ["a\0b", "neither NUL"],
  ["a$f$", 'neither NUL nor "$"'],
  ["pg_mine", "keeps the schema"],
  ["information_schema", "keeps the schema"],
])("a store refuses the schema %j before it connects", async (schema, message) => {
  // Nothing listens there.
  const opening = postgresStore({ connection: { host: "/nowhere" }, schema, deadlineMs: 1 });
  await expect(opening).rejects.toThrow(InvalidArgumentError);
  await expect(opening).rejects.toThrow(message);
});

test.each([
  ["shop", '"shop"'],
  ["x".repeat(63), `"${"x".repeat(63)}"`],
  ['a"; drop schema public; --', '"a""; drop schema public; --"'],
  ["Größe 'x' \\", "\"Größe 'x' \\\""],
])("the schema %j is quoted", (schema, sql) => {
  expect(quoteSchema(schema)).toBe(sql);
});

test.each([
  ["a'; drop table t; --", "E'a''; drop table t; --'"],
  ["back\\slash\\'", "E'back\\\\slash\\\\'''"],
])("the text %j is quoted", (text, sql) => {
  expect(quoteText(text)).toBe(sql);
});
