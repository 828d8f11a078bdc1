import { request } from "node:http";
import { open } from "percolatordb";
import { expect, test } from "vitest";
import { serveShop } from "./serve.js";

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
