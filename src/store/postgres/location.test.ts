import { describe, expect, test } from "vitest";
import { parseLocation } from "./location.js";

describe("a location", () => {
  test("gives this store its parameters, and pg the rest", () => {
    const place =
      "postgres://app:secret@host:5433/shop?schema=search&sslmode=require&prepare=false&connections=4";
    expect(parseLocation(place)).toEqual({
      connection: "postgres://app:secret@host:5433/shop?sslmode=require",
      schema: "search",
      prepare: false,
      connections: 4,
      deadlineMs: undefined,
    });
    expect(parseLocation("postgresql://host/shop")).toMatchObject({
      connection: "postgresql://host/shop",
      schema: undefined,
    });
    for (const path of ["app@/shop", "/shop", "%2Frun%2Fpostgresql/shop", "app:a%2Fb@host/shop"]) {
      expect(parseLocation(`postgres://${path}?host=/run`).connection).toContain(path);
    }
  });

  test.each([
    ["postgres:shop", "postgres:// is missing"],
    ["postgres://h/d?schema=a&schema=b", '"schema" is given twice'],
    ["postgres://h/d?prepare=maybe", '"prepare" must be true or false'],
    ["postgres://h/d?connections=none", '"connections" must be a whole number'],
    ["postgres://h/d?deadlineMs=0", '"deadlineMs" must be a whole number'],
    ["postgres://u:secret@h/d?a=1?b=2", "second question mark"],
    ["postgres://u:not/secret@h/d", 'write "/", "?", "#" and "@" in a password as %2F, %3F, %23 and %40'],
    ["postgres://u:not?secret@h/d", "it is no URL"],
    ["postgres://u:not#secret@h/d", "it is no URL"],
  ])("%s is refused", (place, why) => {
    expect(() => parseLocation(place)).toThrow(why);
    expect(() => parseLocation(place)).not.toThrow("secret");
  });
});
