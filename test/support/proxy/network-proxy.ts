import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { breakOff } from "./break-off.js";
import type { Protocol } from "./frames.js";
import { Lane, type Passage, type Way } from "./lane.js";

interface Connection {
  readonly client: Socket;
  readonly server: Socket;
  readonly lanes: readonly Lane[];
}

/**
 * A TCP proxy between clients and a server that imitates network faults: it delays, loses one
 * direction or both, and cuts connections. By default it forwards everything at once.
 */
export class NetworkProxy implements AsyncDisposable {
  readonly #server: Server;
  readonly #protocol: Protocol;
  readonly #connections = new Set<Connection>();
  readonly #passages: Readonly<Record<Way, Passage>> = { up: passage("up"), down: passage("down") };
  #refuses = false;
  #accepted = 0;
  #passed = { up: 0, down: 0 };
  /** `HOST:PORT` of the server, or the path of its socket. A change applies to later connections. */
  target: string;

  private constructor(target: string, server: Server, protocol: Protocol) {
    this.target = target;
    this.#protocol = protocol;
    this.#server = server;
    server.on("connection", (client) => this.#accept(client));
  }

  /** Listens on a free port of `host`. Default: 127.0.0.1. {@link cutAtCall} needs the protocol. */
  static async start(
    target: string,
    host = "127.0.0.1",
    protocol: Protocol = "http2",
  ): Promise<NetworkProxy> {
    const server = createServer({ allowHalfOpen: true, noDelay: true });
    server.listen(0, host);
    await once(server, "listening");
    return new NetworkProxy(target, server, protocol);
  }

  /** `HOST:PORT` for clients. */
  get address(): string {
    const { address, port } = this.#server.address() as AddressInfo;
    return `${address}:${port}`;
  }

  /** Count of open connections. */
  get connections(): number {
    return this.#connections.size;
  }

  /** Count of connections since the start. */
  get accepted(): number {
    return this.#accepted;
  }

  /** Bytes forwarded in each direction. */
  get passed(): Readonly<Record<Way, number>> {
    const passed = { ...this.#passed };
    for (const { lanes } of this.#connections) {
      passed.up += lanes[0]!.bytes;
      passed.down += lanes[1]!.bytes;
    }
    return passed;
  }

  /** Delays everything by `ms` milliseconds from now on, in both directions or the given one. */
  delay(ms: number, way?: Way): void {
    for (const each of this.#ways(way)) each.delayMs = ms;
  }

  /**
   * Forwards nothing more, in both directions or the given one. Connections stay open. The proxy
   * holds what is sent, and forwards it after {@link heal}, as TCP would send it again. {@link cut}
   * loses it.
   */
  silence(way?: Way): void {
    for (const each of this.#ways(way)) each.silent = true;
  }

  /** Refuses new connections. */
  refuse(): void {
    this.#refuses = true;
  }

  /** Ends all faults. Connections that were cut stay closed. */
  heal(): void {
    this.#refuses = false;
    for (const each of this.#ways()) {
      each.delayMs = 0;
      each.silent = false;
      each.cutAtCall = undefined;
    }
    for (const { lanes } of this.#connections) for (const lane of lanes) lane.go();
  }

  /** Breaks every connection and loses what was on its way. */
  cut(): void {
    for (const connection of this.#connections) this.#break(connection);
  }

  /**
   * Waits for the next part of a call in a direction, and breaks all connections instead of
   * forwarding it. `"up"` loses a request. `"down"` loses the answer to a request that the server
   * has carried out. Resolves when the connections are broken.
   */
  cutAtCall(way: Way): Promise<void> {
    return new Promise((resolve) => {
      this.#passages[way].cutAtCall = () => {
        this.cut();
        resolve();
      };
    });
  }

  async close(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, "close");
    this.#server.close();
    this.cut();
    await closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #ways(way?: Way): readonly Passage[] {
    const { up, down } = this.#passages;
    return way === undefined ? [up, down] : [this.#passages[way]];
  }

  #accept(client: Socket): void {
    client.on("error", () => undefined);
    if (this.#refuses) {
      breakOff(client);
      return;
    }
    this.#accepted++;
    const server = connectTo(this.target);
    const lanes = [
      new Lane(client, server, this.#passages.up, this.#protocol),
      new Lane(server, client, this.#passages.down, this.#protocol),
    ];
    const connection = { client, server, lanes };
    this.#connections.add(connection);
    for (const socket of [client, server]) {
      socket.once("close", () => {
        if (client.destroyed && server.destroyed) this.#forget(connection);
      });
    }
  }

  #break(connection: Connection): void {
    this.#forget(connection);
    for (const lane of connection.lanes) lane.end();
    breakOff(connection.client);
    breakOff(connection.server);
  }

  #forget(connection: Connection): void {
    if (!this.#connections.delete(connection)) return;
    this.#passed.up += connection.lanes[0]!.bytes;
    this.#passed.down += connection.lanes[1]!.bytes;
  }
}

function passage(way: Way): Passage {
  return { way, delayMs: 0, silent: false, cutAtCall: undefined };
}

function connectTo(target: string): Socket {
  if (target.startsWith("/")) return connect({ path: target, allowHalfOpen: true });
  const colon = target.lastIndexOf(":");
  const [host, port] = [target.slice(0, colon), Number(target.slice(colon + 1))];
  return connect({ host, port, allowHalfOpen: true, noDelay: true });
}
