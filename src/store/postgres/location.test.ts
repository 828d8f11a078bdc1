import { describe, expect, test } from "vitest";
import { parseLocation, withoutPassword } from "./location.js";

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
  });

  test.each([
    ["postgres:shop", "postgres:// is missing"],
    ["postgres://h/d?schema=a&schema=b", '"schema" is given twice'],
    ["postgres://h/d?prepare=maybe", '"prepare" must be true or false'],
    ["postgres://h/d?connections=none", '"connections" must be a whole number'],
    ["postgres://h/d?deadlineMs=0", '"deadlineMs" must be a whole number'],
    ["postgres://u:secret@h/d?a=1?b=2", "second question mark"],
  ])("%s is refused", (place, why) => {
    expect(() => parseLocation(place)).toThrow(why);
    expect(() => parseLocation(place)).not.toThrow("secret");
  });

  test("is shown without its password", () => {
    expect(withoutPassword("postgres://app:se@cret@host/shop")).not.toContain("cret");
    expect(withoutPassword("postgres://app@host/shop?password=secret&a=b")).toBe(
      "postgres://app@host/shop?password=...&a=b",
    );
    expect(withoutPassword("postgres://app@host:5432/shop")).toBe("postgres://app@host:5432/shop");
  });
});
