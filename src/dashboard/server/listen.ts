import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { InvalidArgumentError } from "../../errors/index.js";

/** A server that runs in this process. */
export interface RunningServer {
  /** Address of the first page. */
  readonly url: string;
  /** Ends the requests under way, and waits until they have ended. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export type RequestListener = (request: IncomingMessage, response: ServerResponse) => void;

/** The path of a request; undefined if the request target is not a path. */
export function pathOf({ url = "/" }: IncomingMessage): string | undefined {
  return URL.canParse(url, "http://localhost") ? new URL(url, "http://localhost").pathname : undefined;
}

export interface ListenOptions {
  /** What is served, for messages. */
  readonly what: string;
  readonly host: string;
  readonly port: number;
  /** Path of the first page. */
  readonly path: string;
  /**
   * Called when the server closes, before its requests end. Also called if the server cannot
   * listen.
   */
  readonly end: () => void;
}

/**
 * Serves until it is closed.
 *
 * @throws InvalidArgumentError if the address is taken or does not belong to this machine.
 */
export async function serveOn(options: ListenOptions, listener: RequestListener): Promise<RunningServer> {
  const { what, host, port, path } = options;
  const server = createServer(listener);
  server.requestTimeout = 30_000;
  server.headersTimeout = 10_000;
  server.maxConnections = 256;
  try {
    server.listen(port, host);
    await once(server, "listening");
  } catch (cause) {
    options.end();
    throw new InvalidArgumentError(
      `${what} cannot be served at ${host}:${port}: ${(cause as Error).message}. Choose a free port of this machine.`,
      { cause },
    );
  }
  const end = async () => {
    options.end();
    const closed = once(server, "close");
    server.close();
    server.closeAllConnections();
    await closed;
  };
  let ended: Promise<void> | undefined;
  // Not every runtime emits "close" again when a server is closed twice.
  const close = () => (ended ??= end());
  const name = host.includes(":") ? `[${host}]` : host;
  const url = `http://${name}:${(server.address() as AddressInfo).port}${path}`;
  return { url, close, [Symbol.asyncDispose]: close };
}
