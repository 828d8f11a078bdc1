import { expect, it } from "vitest";
import { serveOn } from "./listen.js";

it("ends once, however often it is closed", async () => {
  let ends = 0;
  const end = () => {
    ends += 1;
  };
  const server = await serveOn({ what: "A page", host: "127.0.0.1", port: 0, path: "/", end }, () => {});
  await Promise.all([server.close(), server.close()]);
  await server.close();
  await server[Symbol.asyncDispose]();
  expect(ends).toBe(1);
});
