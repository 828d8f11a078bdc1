import { request } from "node:http";
import { open } from "percolatordb";
import { expect, test, vi } from "vitest";
import { serveShop } from "./serve.js";
import { customersByToken } from "./tables.js";
import { tokensOf } from "./tokens.js";

test("a request whose target is no address gets an answer", async () => {
  await using db = await open("memory:");
  await using server = await serveShop(db, 0);
  const { port } = new URL(server.url);
  const status = await new Promise((resolve, reject) => {
    const asked = request({ host: "127.0.0.1", port, path: "//" }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    asked.on("error", reject);
    asked.end();
  });
  expect(status).toBe(404);
});

test("a parameter that is longer than a key is the client's mistake, and a long word is none", async () => {
  await using db = await open("memory:");
  await using server = await serveShop(db, 0);
  const long = "a".repeat(10_000);
  const refused = await fetch(new URL(`revenue?prefix=${long}`, server.url));
  expect([refused.status, await refused.json()]).toEqual([400, { error: expect.stringContaining("1500") }]);
  expect((await fetch(new URL(`customers?name=${long}`, server.url))).status).toBe(200);
  const words = tokensOf(`${long} ${"\u{20000}".repeat(150)} end`);
  expect(words.map((word) => Buffer.byteLength(word))).toEqual([100, 400, 200, 3]);
});

test("a query of thousands of words looks up few of them", async () => {
  await using db = await open("memory:");
  await using server = await serveShop(db, 0);
  const range = vi.spyOn(customersByToken, "range");
  const words = Array.from({ length: 2_000 }, (_, n) => `w${n}`).join("+");
  const found = await fetch(new URL(`customers?name=${words}`, server.url));
  expect(await found.json()).toEqual({ isComplete: true, customers: [] });
  expect(range.mock.calls.length).toBeLessThanOrEqual(8);
  range.mockRestore();
});
