import { expect, test } from "vitest";
import { withoutPassword } from "./without-password.js";

test.each([
  ["postgres://app:secret@host/shop", "postgres://app@host/shop"],
  ["postgresql://app:se@cret@host:5432/shop?a=b", "postgresql://app@host:5432/shop?a=b"],
  ["postgress://app:secret@host/shop", "postgress://app@host/shop"],
  ["POSTGRES://:secret@host/shop", "POSTGRES://@host/shop"],
  ["postgres:app:secret@host/shop", "postgres:app@host/shop"],
  // Not encoded, as a user may paste it.
  ["postgres://app:sec/ret@host/shop", "postgres://app@host/shop"],
  ["postgres://app:sec?ret@host/shop", "postgres://app@host/shop"],
  ["postgres://app@host/shop?password=secret&a=b", "postgres://app@host/shop?password=...&a=b"],
  ["postgres://app@host/shop?a=b&SSLPASSWORD=secret", "postgres://app@host/shop?a=b&SSLPASSWORD=..."],
  // Without a password.
  ["postgres://app@host:5432/shop", "postgres://app@host:5432/shop"],
  ["postgres://host:5432/shop?user=app@tenant", "postgres://host:5432/shop?user=app@tenant"],
  ["postgres://[::1]:5432/shop?user=app@tenant", "postgres://[::1]:5432/shop?user=app@tenant"],
  ["s3://bucket/prefix", "s3://bucket/prefix"],
])("%s is shown without its password", (place, shown) => {
  expect(withoutPassword(place)).toBe(shown);
});
