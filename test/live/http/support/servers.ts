import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";

/** A server on loopback. */
export interface TestServer extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** Open connections. */
  connections(): Promise<number>;
  /** Ends all connections, and listens no longer. */
  close(): Promise<void>;
}

export async function serve(listener: RequestListener, port = 0): Promise<TestServer> {
  const server = createServer(listener);
  // Thousands of clients may connect at once.
  server.listen({ port, host: "127.0.0.1", backlog: 4_096 });
  await once(server, "listening");
  const bound = (server.address() as AddressInfo).port;
  const close = async () => {
    if (!server.listening) return;
    const closed = once(server, "close");
    server.close();
    server.closeAllConnections();
    await closed;
  };
  const connections = () =>
    new Promise<number>((resolve, reject) => {
      server.getConnections((error, count) => (error ? reject(error) : resolve(count)));
    });
  return { url: `http://127.0.0.1:${bound}/`, port: bound, connections, close, [Symbol.asyncDispose]: close };
}
