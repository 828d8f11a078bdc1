import type { Server } from "node:http";
import type { AddressInfo } from "node:net";

/** A server that listens on loopback, and how to end it. */
export interface Listening extends AsyncDisposable {
  readonly url: string;
}

/** Lets a server listen on this machine alone. Port 0 takes a free one. */
export async function listening(
  server: Server,
  port: number,
  beforeEnd: () => void = () => undefined,
): Promise<Listening> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    async [Symbol.asyncDispose]() {
      beforeEnd();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
