import { expect, test } from "vitest";
import { formatAddress, isAddress, isLoopback, isWildcard, parseAddress } from "./address.js";

test.each([
  ["10.0.0.7:4100", "10.0.0.7", 4100],
  ["coordinator.example:0", "coordinator.example", 0],
  ["[::1]:65535", "::1", 65535],
])("%s is an address", (text, host, port) => {
  expect(parseAddress(text, "It")).toEqual({ host, port });
  expect(formatAddress({ host, port })).toBe(text);
  expect(isAddress(text)).toBe(true);
});

test.each([
  "",
  ":1",
  "host",
  "host:",
  "host:65536",
  "host:-1",
  "::1:4100",
  "[::1]",
  "a b:1",
  "http://host:1",
  "host:1/x",
])("%j is not an address", (text) => {
  expect(isAddress(text)).toBe(false);
  expect(() => parseAddress(text, "It")).toThrow("HOST:PORT");
});

test("reachability of an address", () => {
  expect(["localhost", "127.0.0.1", "127.1.2.3", "::1"].every(isLoopback)).toBe(true);
  expect(["0.0.0.0", "::", "10.0.0.7", "localhost.example", "127.0.0.1.example"].some(isLoopback)).toBe(
    false,
  );
  expect(["0.0.0.0", "::", "::0", "0:0:0:0:0:0:0:0", "0"].every(isWildcard)).toBe(true);
  expect(["127.0.0.1", "::1", "fe80::1%eth0", "a_b", "host.example"].some(isWildcard)).toBe(false);
});
