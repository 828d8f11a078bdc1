import { describe, expect, it } from "vitest";
import { z } from "zod";
import { InvalidValueError, NewerValueError, SchemaError } from "../../errors/index.js";
import { storedVersion } from "../catalog.js";
import { compressed } from "./compressed.js";
import { json } from "./json.js";
import type { JsonOptions } from "./json-version.js";

const first = z.object({ name: z.string() });
const second = z.object({ first: z.string(), last: z.string() });
const third = z.object({ first: z.string(), last: z.string(), age: z.number().int() });

const splitName = (old: { name: string }) => {
  const [given, family] = old.name.split(" ");
  return { first: given, last: family };
};
const addAge = (old: { first: string; last: string }) => ({ ...old, age: 0 });

const v1 = json(first);
const v2 = json(second, { version: 2, upgrade: { 1: splitName } });
const v3 = json(third, { version: 3, upgrade: { 1: splitName, 2: addAge } });

const textOf = (bytes: Uint8Array) => Buffer.from(bytes).toString("utf8");

describe("json with versions", () => {
  it("does not change the bytes of values of version 1", () => {
    const value = { name: "Ada Lovelace" };
    const bytes = textOf(v1.encode(value));
    expect(bytes).toBe('{"name":"Ada Lovelace"}');
    expect(textOf(json(first, { version: 1 }).encode(value))).toBe(bytes);
  });

  it("writes the version before the value, as no JSON text begins", () => {
    expect(textOf(v2.encode({ first: "Ada", last: "Lovelace" }))).toBe(
      'v2:{"first":"Ada","last":"Lovelace"}',
    );
    const text = json<string>(undefined, { version: 12 });
    expect(textOf(text.encode("v3:x"))).toBe('v12:"v3:x"');
    expect(text.decode(text.encode("v3:x"))).toBe("v3:x");
  });

  it("upgrades older values, through each version", () => {
    const old = v1.encode({ name: "Ada Lovelace" });
    expect(v2.decode(old)).toEqual({ first: "Ada", last: "Lovelace" });
    expect(v3.decode(old)).toEqual({ first: "Ada", last: "Lovelace", age: 0 });
    expect(v3.decode(v2.encode({ first: "B", last: "C" }))).toEqual({ first: "B", last: "C", age: 0 });
    expect(v3.decode(v3.encode({ first: "B", last: "C", age: 9 }))).toEqual({
      first: "B",
      last: "C",
      age: 9,
    });
  });

  it("refuses a newer value by name, with both versions, and says what to do", () => {
    const bytes = v3.encode({ first: "B", last: "C", age: 9 });
    for (const older of [v1, v2, json<unknown>()]) expect(() => older.decode(bytes)).toThrow(NewerValueError);
    try {
      v2.decode(bytes);
    } catch (error) {
      expect(error).toMatchObject({ code: "NEWER_VALUE", version: 3, known: 2, retryable: false });
      expect((error as Error).message).toMatch(/version 3, but this program reads versions up to 2.*Deploy/);
    }
  });

  it("names the step of an upgrade that is missing, throws, or gives something invalid", () => {
    const old = v1.encode({ name: "Ada Lovelace" });
    const failing = (upgrade: JsonOptions["upgrade"]) => json(second, { version: 2, upgrade });
    const cases: [JsonOptions["upgrade"], RegExp][] = [
      [undefined, /has version 1, and the column has no `upgrade` from version 1 to 2/],
      [
        {
          1: () => {
            throw new Error("no name");
          },
        },
        /upgrade from version 1 to 2 failed: no name/,
      ],
      [{ 1: async () => ({}) }, /returned a promise/],
      [{ 1: () => undefined }, /cannot be stored.*undefined/],
      [{ 1: () => ({ at: new Date() }) }, /cannot be stored.*Date/],
      [{ 1: () => ({ first: "only" }) }, /schema refuses the value/],
    ];
    for (const [upgrade, message] of cases) {
      expect(() => failing(upgrade).decode(old)).toThrow(InvalidValueError);
      expect(() => failing(upgrade).decode(old)).toThrow(message);
    }
  });

  it("writes an older version while older programs still read", () => {
    const joinName = (value: z.infer<typeof second>) => ({ name: `${value.first} ${value.last}` });
    const both = json(second, {
      version: 2,
      upgrade: { 1: splitName },
      writeVersion: 1,
      downgrade: { 2: joinName },
    });
    const bytes = both.encode({ first: "Ada", last: "Lovelace" });
    expect(v1.decode(bytes)).toEqual({ name: "Ada Lovelace" });
    expect(both.decode(bytes)).toEqual({ first: "Ada", last: "Lovelace" });
    expect(both.decode(v2.encode({ first: "B", last: "C" }))).toEqual({ first: "B", last: "C" });
  });

  it("works inside compressed()", () => {
    const old = compressed(v1).encode({ name: `Ada ${"x".repeat(2_000)}` });
    const packed = compressed(v2);
    expect(old[0]).toBe(0xff);
    expect(packed.decode(old).first).toBe("Ada");
    const now = packed.encode({ first: "Ada", last: "x".repeat(2_000) });
    expect(now[0]).toBe(0xff);
    expect([old, now].map((bytes) => storedVersion(packed.tag, bytes))).toEqual([1, 2]);
    expect(() => compressed(v1).decode(now)).toThrow(NewerValueError);
  });

  it("takes bytes with a damaged version for damage", () => {
    for (const damaged of ["v", "v2", "v:1", "v0:1", "v1:1", "v02:1", "v2", "v1234567:1", "vx:1"]) {
      expect(() => v3.decode(Buffer.from(damaged))).toThrow(/stored bytes are not JSON/);
      expect(storedVersion("json", Buffer.from(damaged))).toBeUndefined();
    }
  });

  it("refuses wrong options when the column is declared", () => {
    const cases: [JsonOptions, RegExp][] = [
      [{ version: 0 }, /`version` must be an integer from 1/],
      [{ version: 1.5 }, /`version` must be an integer/],
      [{ version: 2, writeVersion: 3 }, /`writeVersion` must be an integer from 1 to 2/],
      [{ version: 2, writeVersion: 1 }, /`downgrade` needs a function from version 2 to 1/],
      [
        { version: 2, writeVersion: 1, downgrade: { 2: () => 1 } },
        /`upgrade` needs a function from version 1 to 2/,
      ],
      [{ version: 2, upgrade: { 2: () => 1 } }, /from version "2", but it takes 1 to 1/],
      [{ upgrade: { 1: () => 1 } }, /the column has only version 1/],
      [{ version: 3, upgrade: { 1: () => 1 } }, /none from version 2/],
      [{ version: 2, upgrade: { 1: 5 as never } }, /must be a function, not 5/],
      [{ version: 2, upgrade: [] as never }, /must be an object of functions/],
    ];
    for (const [options, message] of cases) {
      expect(() => json(second, options)).toThrow(SchemaError);
      expect(() => json(second, options)).toThrow(message);
    }
    expect(() => json(second, { versoin: 2 } as never)).toThrow(/no option `versoin`/);
  });
});
