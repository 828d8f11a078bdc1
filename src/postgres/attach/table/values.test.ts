import { expect, test } from "vitest";
import { membersOf } from "./values.js";

test.each([
  ['{"a":1.50,"b":"x"}', { a: "1.50", b: '"x"' }],
  ['{ "a" : {"b":[1,"}"]} , "c\\"d": null}', { a: '{"b":[1,"}"]}', 'c"d': "null" }],
  ['{"a":"\\\\","b":"\\\\\\"","c":"\\u0000"}', { a: '"\\\\"', b: '"\\\\\\""', c: '"\\u0000"' }],
  ["{}", {}],
])("the members of %s keep their text", (json, members) => {
  expect(membersOf(json)).toEqual(members);
});

test("a value may have megabytes, also with a shallow stack left", () => {
  const text = `"${"x\\n".repeat(4_000_000)}"`;
  const deep = (depth: number): string => (depth === 0 ? membersOf(`{"a":${text}}`).a! : deep(depth - 1));
  expect(deep(5_000) === text).toBe(true);
});
