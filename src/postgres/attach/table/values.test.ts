import { expect, test } from "vitest";
import { membersOf, parsedValue } from "./values.js";

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

test.each([
  ['"9999-12-31"', "9999-12-31T00:00:00.000Z"],
  ['"10000-01-02"', "+010000-01-02T00:00:00.000Z"],
  ['"12024-01-02T03:04:05.678"', "+012024-01-02T03:04:05.678Z"],
  ['"12024-01-02T03:04:05+02:00"', "+012024-01-02T01:04:05.000Z"],
  ['"275760-09-13"', "+275760-09-13T00:00:00.000Z"],
])("the date %s is %s in each time zone", (raw, iso) => {
  const { TZ } = process.env;
  try {
    for (const zone of ["UTC", "America/New_York", "Asia/Tokyo"]) {
      process.env.TZ = zone;
      expect((parsedValue("date", raw) as Date).toISOString()).toBe(iso);
    }
  } finally {
    if (TZ === undefined) delete process.env.TZ;
    else process.env.TZ = TZ;
  }
});

test.each([
  "infinity",
  "-infinity",
  "5874897-12-31",
  "275760-09-14",
  "0044-03-15 BC",
  "0044-03-15T00:00:00 BC",
])("%s is no date of JavaScript", (text) => {
  expect(() => parsedValue("date", JSON.stringify(text))).toThrow(`"${text}" is not a date of JavaScript`);
});

test.each([
  ["1.5", 1.5],
  ["1e308", 1e308],
  ['"Infinity"', Infinity],
  ['"-Infinity"', -Infinity],
  ['"NaN"', Number.NaN],
])("the number %s", (raw, value) => {
  expect(parsedValue("float", raw)).toBe(value);
});

test.each(["", "-"])(
  "a number that is too large for JavaScript is refused, and not shown in full: %s1e400",
  (sign) => {
    expect(() => parsedValue("float", `${sign}1${"0".repeat(400)}`)).toThrow(
      /^the number "-?10{3,}…" \(40[12] characters\) is too large for JavaScript, which has numbers to 1\.79\d*e\+308$/,
    );
  },
);
