import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compareBytes } from "../../bytes.js";
import { parseLocation, showLocation } from "../location.js";
import { between } from "../read/reverse.js";
import { decodeRow, encodeRow, tableId } from "./names.js";

describe("ids of tables", () => {
  it("are valid in Bigtable, and differ if names or prefixes do", () => {
    const name = fc.string({ minLength: 1, maxLength: 64, unit: "binary" });
    const prefix = fc.option(fc.stringMatching(/^[a-z0-9][a-z0-9_-]{0,4}$/), { nil: undefined });
    fc.assert(
      fc.property(prefix, name, prefix, name, (p, a, q, b) => {
        const [first, second] = [tableId(p, a), tableId(q, b)];
        expect(first).toMatch(/^[_a-zA-Z0-9][-_.a-zA-Z0-9]{0,49}$/);
        expect(first === second).toBe(p === q && a === b);
      }),
      { numRuns: 500 },
    );
    expect(tableId(undefined, "web_index")).toBe("web_index");
    expect(tableId("shop", "~system")).toBe("shop.._.7esystem");
    const alike = ["~", "_~", "_.7e", ".7e", "_", "a.b", "a~b", "a.7eb"].map((each) =>
      tableId(undefined, each),
    );
    expect(new Set(alike).size).toBe(alike.length);
  });
});

describe("rows", () => {
  it("are never empty in Bigtable, keep their order, and are decoded again", () => {
    const row = fc
      .array(fc.constantFrom(0, 0, 1, 97, 255), { maxLength: 5 })
      .map((each) => Buffer.from(each));
    fc.assert(
      fc.property(row, row, (a, b) => {
        expect(encodeRow(a).length).toBeGreaterThan(0);
        expect(Buffer.from(decodeRow(encodeRow(a)))).toEqual(a);
        expect(Math.sign(compareBytes(encodeRow(a), encodeRow(b)))).toBe(Math.sign(compareBytes(a, b)));
      }),
      { numRuns: 1_000 },
    );
  });

  it("have others between them if there are any", () => {
    const key = fc.uint8Array({ maxLength: 4 });
    fc.assert(
      fc.property(key, fc.option(key, { nil: undefined }), (low, high) => {
        fc.pre(high === undefined || compareBytes(low, high) < 0);
        const middle = between(low, high);
        expect(compareBytes(low, middle)).toBeLessThanOrEqual(0);
        if (high !== undefined) expect(compareBytes(middle, high)).toBeLessThan(0);
      }),
    );
    expect([...between(Buffer.from([10]), Buffer.from([20]))]).toEqual([15]);
  });
});

describe("locations", () => {
  it("name a project, an instance, and optionally a prefix and an app profile", () => {
    expect(parseLocation("bigtable://p-1/i-1")).toEqual({
      project: "p-1",
      instance: "i-1",
      prefix: undefined,
      profile: "default",
      client: {},
    });
    const full = "bigtable://example.com:p/i?prefix=shop&profile=one-cluster";
    expect(parseLocation(full)).toMatchObject({
      project: "example.com:p",
      prefix: "shop",
      profile: "one-cluster",
    });
    expect(showLocation(parseLocation(full))).toBe(full);
    const tuned = `${full}&connections=8&deadlineMs=5000&endpoint=eu.example.com%3A8443`;
    expect(parseLocation(tuned).client).toEqual({
      connections: 8,
      deadlineMs: 5_000,
      endpoint: "eu.example.com:8443",
    });
    expect(showLocation(parseLocation(tuned))).toBe(full);
    expect(showLocation(parseLocation("bigtable://p/i/"))).toBe("bigtable://p/i");
  });

  it.each([
    "bigtable:p/i",
    "bigtable://p",
    "bigtable:///i",
    "bigtable://p/i/t",
    "bigtable://p/i?table=x",
    "bigtable://p/i?prefix=",
    "bigtable://p/i?prefix=a.b",
    "bigtable://p/i?prefix=abcdefghijklmnopqrstu",
    "bigtable://p/i?profile=a/b",
    "bigtable://p/i?prefix=a&prefix=b",
    "bigtable://p/i?connections=0",
    "bigtable://p/i?deadlineMs=5s",
    "bigtable://p/i?maxInFlight=",
  ])("%s is not a location", (place) => {
    expect(() => parseLocation(place)).toThrow("bigtable://PROJECT/INSTANCE");
  });
});
