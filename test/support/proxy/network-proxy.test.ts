import { once } from "node:events";
import {
  type ClientHttp2Session,
  connect as connectHttp2,
  createServer as createHttp2Server,
  type Http2Server,
} from "node:http2";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { afterEach, expect, test } from "vitest";
import { breakOff } from "./break-off.js";
import { NetworkProxy } from "./index.js";

const open: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

/** Starts a server that echoes and records what it receives. */
async function startEcho(): Promise<{ address: string; heard: () => string; sockets: Set<Socket> }> {
  const sockets = new Set<Socket>();
  let heard = "";
  const server: Server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("close", () => sockets.delete(socket));
    socket.on("data", (data: Buffer) => {
      heard += data.toString();
      socket.write(data);
    });
    socket.on("end", () => socket.end("bye"));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  open.push(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return { address: addressOf(server), heard: () => heard, sockets };
}

function addressOf(server: Server | Http2Server): string {
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

class Client {
  readonly socket: Socket;
  heard = "";
  ended: "no" | "end" | "broken" = "no";

  constructor(address: string) {
    this.socket = connect({ host: "127.0.0.1", port: Number(address.split(":")[1]) });
    this.socket.on("data", (data: Buffer) => {
      this.heard += data.toString();
    });
    this.socket.on("error", () => undefined);
    this.socket.on("close", (broken) => {
      this.ended = broken ? "broken" : "end";
    });
    open.push(() => this.socket.destroy());
  }
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 2));
}

const aWhile = () => new Promise((resolve) => setTimeout(resolve, 60));

async function start(): Promise<{
  echo: Awaited<ReturnType<typeof startEcho>>;
  proxy: NetworkProxy;
  client: Client;
}> {
  const echo = await startEcho();
  const proxy = await NetworkProxy.start(echo.address);
  open.push(() => proxy.close());
  return { echo, proxy, client: new Client(proxy.address) };
}

test("forwards everything in both directions, in order, and the end of either side", async () => {
  const { echo, proxy, client } = await start();
  const long = "0123456789".repeat(300_000);
  client.socket.write(long);
  client.socket.end();
  await until(() => client.ended === "end");
  expect(echo.heard() === long).toBe(true);
  expect(client.heard === `${long}bye`).toBe(true);
  await until(() => proxy.connections === 0);
  expect([proxy.accepted, proxy.passed]).toEqual([1, { up: long.length, down: long.length + 3 }]);
});

test("latency applies to each direction, and keeps the order when it ends", async () => {
  const { proxy, client } = await start();
  proxy.delay(30);
  const before = performance.now();
  client.socket.write("one ");
  await until(() => client.heard !== "");
  expect(performance.now() - before).toBeGreaterThanOrEqual(59);
  client.socket.write("two ");
  await aWhile();
  proxy.delay(0);
  client.socket.write("three");
  await until(() => client.heard === "one two three");
});

test("silence in one direction: the server receives, the client does not; held data arrives after the fault", async () => {
  const { echo, proxy, client } = await start();
  proxy.silence("down");
  client.socket.write("hello");
  await until(() => echo.heard() === "hello");
  await aWhile();
  expect([client.heard, client.ended, echo.sockets.size]).toEqual(["", "no", 1]);
  proxy.heal();
  await until(() => client.heard === "hello");
});

test("silence in the other direction: the request arrives later, even if the client has gone", async () => {
  const { echo, proxy, client } = await start();
  client.socket.write("first ");
  await until(() => client.heard === "first ");
  proxy.silence("up");
  client.socket.write("late");
  await aWhile();
  client.socket.destroy();
  await aWhile();
  expect([echo.heard(), echo.sockets.size]).toEqual(["first ", 1]);
  proxy.heal();
  await until(() => echo.heard() === "first late");
  await until(() => echo.sockets.size === 0);
});

test("a cut breaks both sides and loses held data; a client that reconnects is served", async () => {
  const { echo, proxy, client } = await start();
  client.socket.write("a");
  await until(() => client.heard === "a");
  proxy.silence();
  client.socket.write("lost");
  await aWhile();
  proxy.cut();
  await until(() => client.ended === "broken" && echo.sockets.size === 0);
  proxy.heal();
  const next = new Client(proxy.address);
  next.socket.write("b");
  await until(() => next.heard === "b");
  expect(echo.heard()).toBe("ab");
});

test("a connection that is just sending its end is closed by a cut", async () => {
  const { client } = await start();
  await once(client.socket, "connect");
  const closed = once(client.socket, "close");
  client.socket.end();
  breakOff(client.socket);
  await closed;
});

test("refuses connections, and accepts them again", async () => {
  const { proxy, client } = await start();
  client.socket.write("a");
  await until(() => client.heard === "a");
  proxy.refuse();
  const refused = new Client(proxy.address);
  await until(() => refused.ended !== "no");
  expect(client.ended).toBe("no");
  proxy.heal();
  const taken = new Client(proxy.address);
  taken.socket.write("b");
  await until(() => taken.heard === "b");
});

test("if the server does not exist, the connection breaks", async () => {
  const proxy = await NetworkProxy.start("127.0.0.1:1");
  open.push(() => proxy.close());
  const client = new Client(proxy.address);
  await until(() => client.ended !== "no");
  await until(() => proxy.connections === 0);
});

/** Starts a server for HTTP/2 calls such as those of gRPC. */
async function startHttp2(): Promise<{
  proxy: NetworkProxy;
  served: string[];
  session: () => ClientHttp2Session;
}> {
  const served: string[] = [];
  const server = createHttp2Server((request, response) => {
    request.resume();
    request.on("end", () => {
      served.push(request.url);
      response.end(`answer ${request.url}`);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  open.push(() => server.close());
  const proxy = await NetworkProxy.start(addressOf(server));
  open.push(() => proxy.close());
  const session = () => {
    const made = connectHttp2(`http://${proxy.address}`);
    made.on("error", () => undefined);
    open.push(() => made.destroy());
    return made;
  };
  return { proxy, served, session };
}

function call(session: ClientHttp2Session, path: string, body = ""): Promise<string> {
  const request = session.request({ ":path": path, ":method": "POST" });
  request.end(body);
  return new Promise((resolve) => {
    let text = "";
    request.setEncoding("utf8");
    request.on("data", (data: string) => {
      text += data;
    });
    request.on("error", () => resolve("broken"));
    request.on("close", () => resolve(text === "" ? "broken" : text));
  });
}

test("cuts after the delivery of a request and before its answer", async () => {
  const { proxy, served, session } = await startHttp2();
  const first = session();
  expect(await call(first, "/1", "x".repeat(100_000))).toBe("answer /1");
  const happened = proxy.cutAtCall("down");
  expect(await call(first, "/2")).toBe("broken");
  await happened;
  expect(served).toEqual(["/1", "/2"]);
  expect(await call(session(), "/3")).toBe("answer /3");
});

test("cuts before the delivery of a request", async () => {
  const { proxy, served, session } = await startHttp2();
  const first = session();
  expect(await call(first, "/1")).toBe("answer /1");
  const happened = proxy.cutAtCall("up");
  expect(await call(first, "/2")).toBe("broken");
  await happened;
  expect(served).toEqual(["/1"]);
  expect(await call(session(), "/3")).toBe("answer /3");
});
