import { execFile } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { NetworkNamespace, obstacleToNamespaces, untested } from "./index.js";

const run = promisify(execFile);

/** Connects, prints what it receives, and ends with its input. */
const client = `
const socket = require("node:net").connect(Number(process.argv[2]), process.argv[1]);
socket.pipe(process.stdout);
process.stdin.on("end", () => process.exit()).resume();
`;

test("a process inside reaches this machine, but not while the cable is pulled", async () => {
  const obstacle = await obstacleToNamespaces();
  if (obstacle !== undefined) return untested(obstacle);
  await using namespace = await NetworkNamespace.create();
  await using server = await startServer(namespace.hostAddress);
  const [program, args] = namespace.command(process.execPath, [
    "-e",
    client,
    namespace.hostAddress,
    `${server.port}`,
  ]);
  const child = execFile(program, [...args]);
  let heard = "";
  child.stdout!.on("data", (data: string) => {
    heard += data;
  });
  try {
    const socket = await server.accepted;
    socket.write("one ");
    await until(() => heard === "one ");
    await namespace.disconnect();
    socket.write("two");
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(heard).toBe("one ");
    await namespace.connect();
    await until(() => heard === "one two");
  } finally {
    child.stdin!.end();
    await once(child, "exit");
  }
});

test("is gone after it was removed", async () => {
  const obstacle = await obstacleToNamespaces();
  if (obstacle !== undefined) return untested(obstacle);
  const namespace = await NetworkNamespace.create();
  await namespace.remove();
  const { stdout } = await run("ip", ["netns", "list"]);
  expect(stdout).not.toContain(namespace.name);
});

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 2));
}

async function startServer(host: string) {
  const server: Server = createServer();
  server.listen(0, host);
  await once(server, "listening");
  const accepted = once(server, "connection").then(([socket]) => socket as Socket);
  return {
    port: (server.address() as AddressInfo).port,
    accepted,
    async [Symbol.asyncDispose]() {
      (await accepted).destroy();
      server.close();
    },
  };
}
