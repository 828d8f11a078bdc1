import { join } from "node:path";
import type { Location } from "percolatordb";
import { openBigtableStore } from "percolatordb/bigtable";
import { type PostgresServer, startPostgres } from "../../examples/support/postgres-server.js";
import { oracleTable } from "../../src/oracle/index.js";
import { bigtableLocation, temporaryFolder } from "../support/databases.js";
import { type Emulator, startEmulator } from "../support/emulator/index.js";
import { locationBehind, placeAt, startProxy } from "../support/postgres/index.js";
import { NetworkProxy } from "../support/proxy/index.js";
import { pause, until } from "../support/waiting.js";
import { CoordinatorMember, times } from "./members.js";

/** The stores on which several processes can have a database. */
export const stores = ["lmdb", "postgres", "bigtable", "memory"] as const;
export type StoreName = (typeof stores)[number];

/** The schema on PostgreSQL. */
const schema = "cluster";

/** How a process reaches a database. */
export interface Connection {
  /** A folder, a location on PostgreSQL or Bigtable, or `memory:`. */
  readonly location: string;
  /** `HOST:PORT` of the Bigtable emulator, or of the proxy before it. */
  readonly emulatorHost?: string | undefined;
}

/** What a process gives to `open`. `deadlineMs` is Bigtable's; that of PostgreSQL is in the location. */
export async function locationOf(
  { location, emulatorHost }: Connection,
  deadlineMs?: number,
): Promise<Location> {
  return emulatorHost === undefined
    ? location
    : await openBigtableStore(location, { emulatorHost, deadlineMs });
}

/** The location of a database, with everything that it needs besides the processes that use it. */
export interface Place extends AsyncDisposable {
  /** How a process reaches the database without a proxy. */
  readonly direct: Connection;
  /**
   * Returns how a process reaches the database, and the proxy in between if there is one, which
   * listens on `host`. Each process has its own proxy.
   */
  connect(
    host?: string,
  ): Promise<{ readonly connection: Connection; readonly network?: NetworkProxy | undefined }>;
  /** On Bigtable, the coordinators. */
  readonly coordinators?: readonly CoordinatorMember[];
  /** On Bigtable, returns the coordinator that is the leader. */
  leader?(): Promise<CoordinatorMember>;
  /** Starts coordinators in place of those that were killed. */
  replaceCoordinators?(): Promise<void>;
  /**
   * Takes the server away for a while. PostgreSQL's ends as in a crash and is started again.
   * Bigtable's emulator, which has its data in memory, only stands still.
   */
  stopServer?(forMs: number): Promise<void>;
}

/** Makes a place for a database. `coordinators`: how many Bigtable has. */
export async function makePlace(store: StoreName, coordinators = 2): Promise<Place> {
  if (store === "bigtable") return await BigtablePlace.make(coordinators);
  if (store === "postgres") return new PostgresPlace(await startPostgres());
  if (store === "memory") return localPlace("memory:", async () => {});
  const { path, remove } = await temporaryFolder();
  return localPlace(join(path, "data"), remove);
}

function localPlace(location: string, remove: () => Promise<void>): Place {
  const direct = { location };
  return { direct, connect: async () => ({ connection: direct }), [Symbol.asyncDispose]: remove };
}

/** A server of its own, with a proxy before it for each process. */
class PostgresPlace implements Place {
  readonly direct: Connection;
  readonly #server: PostgresServer;
  readonly #networks: NetworkProxy[] = [];

  constructor(server: PostgresServer) {
    this.#server = server;
    this.direct = { location: placeAt(server.host, schema).location };
  }

  async connect(host?: string): Promise<{ readonly connection: Connection; readonly network: NetworkProxy }> {
    const network = await startProxy(this.#server.host, host);
    this.#networks.push(network);
    const location = `${locationBehind(network, schema)}&deadlineMs=${times.deadlineMs}`;
    return { connection: { location }, network };
  }

  async stopServer(forMs: number): Promise<void> {
    await this.#server.end();
    await pause(forMs);
    await this.#server.start();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const network of this.#networks) await network.close();
    await this.#server.stop();
  }
}

/** An emulator with coordinators, one of which is the leader. */
class BigtablePlace implements Place {
  readonly direct: Connection;
  readonly coordinators: CoordinatorMember[] = [];
  readonly #emulator: Emulator;
  readonly #networks: NetworkProxy[] = [];

  private constructor(emulator: Emulator) {
    this.#emulator = emulator;
    this.direct = { location: bigtableLocation, emulatorHost: emulator.host };
  }

  static async make(coordinators: number): Promise<BigtablePlace> {
    const place = new BigtablePlace(await startEmulator());
    try {
      await place.#makeTables();
      await Promise.all(Array.from({ length: coordinators }, () => place.#addCoordinator()));
      return place;
    } catch (error) {
      await place[Symbol.asyncDispose]();
      throw error;
    }
  }

  async connect(host?: string): Promise<{ readonly connection: Connection; readonly network: NetworkProxy }> {
    const network = await NetworkProxy.start(this.#emulator.host, host);
    this.#networks.push(network);
    return { connection: { location: bigtableLocation, emulatorHost: network.address }, network };
  }

  async leader(): Promise<CoordinatorMember> {
    const find = () => this.coordinators.find(({ leads, process }) => leads && !process.hasEnded);
    if (await until(() => find() !== undefined)) return find()!;
    throw new Error("No coordinator leads.");
  }

  async replaceCoordinators(): Promise<void> {
    for (const coordinator of this.coordinators.filter(({ process }) => process.hasEnded)) {
      this.coordinators.splice(this.coordinators.indexOf(coordinator), 1);
      await coordinator[Symbol.asyncDispose]();
      await this.#addCoordinator();
    }
  }

  async stopServer(forMs: number): Promise<void> {
    this.#emulator.signal("SIGSTOP");
    await pause(forMs);
    this.#emulator.signal("SIGCONT");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const network of this.#networks) await network.close();
    for (const coordinator of this.coordinators) await coordinator[Symbol.asyncDispose]();
    await this.#emulator.stop();
  }

  async #addCoordinator(): Promise<void> {
    const coordinator = await CoordinatorMember.start(this.#emulator.host);
    this.coordinators.push(coordinator);
    await coordinator.ready();
  }

  /** Coordinators do not create the tables. */
  async #makeTables(): Promise<void> {
    const store = await openBigtableStore(bigtableLocation, { emulatorHost: this.#emulator.host });
    await store.prepare([oracleTable]);
    await store.close();
  }
}
