import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { InvalidArgumentError } from "../../errors/index.js";

/** Begins to listen. `what`: for the message where the address is taken, or none of this machine's. */
export async function listen(server: Server, what: string, host: string, port: number): Promise<void> {
  try {
    server.listen(port, host);
    await once(server, "listening");
  } catch (cause) {
    throw new InvalidArgumentError(
      `${what} cannot be served at ${host}:${port}: ${(cause as Error).message}. Name a free port of this machine.`,
      { cause },
    );
  }
}

/** Ends what is under way, and waits for it. */
export async function endServer(server: Server): Promise<void> {
  const closed = once(server, "close");
  server.close();
  server.closeAllConnections();
  await closed;
}

/** Where a server that listens is reached, without a path. */
export function originOf(server: Server, host: string): string {
  const { port } = server.address() as AddressInfo;
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}
