import { join } from "node:path";
import { type Database, open } from "percolatordb";
import { openBigtableStore } from "percolatordb/bigtable";
import { type PostgresServer, startPostgres } from "../../examples/support/postgres-server.js";
import { makeTables } from "../cluster/cluster.js";
import { CoordinatorMember } from "../cluster/members.js";
import { bigtableLocation, temporaryFolder } from "../support/databases.js";
import { type Emulator, startEmulator } from "../support/emulator/index.js";
import { locationBehind, startProxy } from "../support/postgres/index.js";
import { NetworkProxy } from "../support/proxy/index.js";
import { until } from "../support/waiting.js";
import type { ChildOrders, Connection } from "./child-orders.js";
import { derived, observers } from "./derived.js";
import { lists, registers } from "./transactions.js";

/** The stores on which a history can be recorded. */
export const stores = ["lmdb", "postgres", "bigtable", "memory"] as const;
export type StoreName = (typeof stores)[number];

/** Shorter than the defaults, so that the locks of a killed process expire during the run. */
const lockTtlMs = 2_000;
const deadlineMs = 1_500;

/** Opens the database of a run. Each of its processes calls this. */
export async function openPlace(
  { location, emulatorHost }: Connection,
  commit: ChildOrders["commit"],
): Promise<Database> {
  const options = { tables: [lists, registers, derived], observers, lockTtlMs };
  if (emulatorHost === undefined) return await open(location, { ...options, commit });
  return await open(await openBigtableStore(location, { emulatorHost, deadlineMs }), options);
}

/**
 * The location of a run's database, with everything that it needs besides the processes of the run.
 */
export interface Place extends AsyncDisposable {
  /**
   * Returns how a process reaches the database, and the proxy in between if there is one. Each
   * process has its own proxy.
   */
  connect(): Promise<{ readonly connection: Connection; readonly network?: NetworkProxy | undefined }>;
  /** On Bigtable, returns the coordinator that is the leader. */
  leader?(): Promise<CoordinatorMember>;
  /** On PostgreSQL, stops the server at once, as in a crash, and restarts it. */
  crash?(): Promise<void>;
  /** Starts coordinators in place of those that were killed. */
  replaceCoordinators?(): Promise<void>;
}

export async function makePlace(store: StoreName): Promise<Place> {
  if (store === "bigtable") return await BigtablePlace.make();
  if (store === "postgres") return new PostgresPlace(await startPostgres());
  if (store === "memory") {
    return {
      connect: async () => ({ connection: { location: "memory:" } }),
      [Symbol.asyncDispose]: async () => {},
    };
  }
  const { path, remove } = await temporaryFolder();
  const connection = { location: join(path, "data") };
  return { connect: async () => ({ connection }), [Symbol.asyncDispose]: remove };
}

/** A server of the run's own, with a proxy before it for each process. */
class PostgresPlace implements Place {
  readonly #server: PostgresServer;
  readonly #networks: NetworkProxy[] = [];

  constructor(server: PostgresServer) {
    this.#server = server;
  }

  async connect(): Promise<{ readonly connection: Connection; readonly network: NetworkProxy }> {
    const network = await startProxy(this.#server.host);
    this.#networks.push(network);
    const location = `${locationBehind(network, "histories")}&deadlineMs=${deadlineMs}`;
    return { connection: { location }, network };
  }

  async crash(): Promise<void> {
    await this.#server.crash();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const network of this.#networks) await network.close();
    await this.#server.stop();
  }
}

/** An emulator with two coordinators, one of which is the leader. */
class BigtablePlace implements Place {
  readonly #emulator: Emulator;
  readonly #coordinators: CoordinatorMember[] = [];
  readonly #networks: NetworkProxy[] = [];

  private constructor(emulator: Emulator) {
    this.#emulator = emulator;
  }

  static async make(): Promise<BigtablePlace> {
    const place = new BigtablePlace(await startEmulator());
    try {
      await makeTables(place.#emulator.host);
      await place.#addCoordinator();
      await place.#addCoordinator();
      return place;
    } catch (error) {
      await place[Symbol.asyncDispose]();
      throw error;
    }
  }

  async connect(): Promise<{ readonly connection: Connection; readonly network: NetworkProxy }> {
    const network = await NetworkProxy.start(this.#emulator.host);
    this.#networks.push(network);
    return { connection: { location: bigtableLocation, emulatorHost: network.address }, network };
  }

  async leader(): Promise<CoordinatorMember> {
    const find = () => this.#coordinators.find(({ leads, process }) => leads && !process.hasEnded);
    if (await until(() => find() !== undefined)) return find()!;
    throw new Error("No coordinator leads.");
  }

  async replaceCoordinators(): Promise<void> {
    for (const [at, coordinator] of [...this.#coordinators.entries()].reverse()) {
      if (!coordinator.process.hasEnded) continue;
      this.#coordinators.splice(at, 1);
      await coordinator[Symbol.asyncDispose]();
      await this.#addCoordinator();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const network of this.#networks) await network.close();
    for (const coordinator of this.#coordinators) await coordinator[Symbol.asyncDispose]();
    await this.#emulator.stop();
  }

  async #addCoordinator(): Promise<void> {
    const coordinator = await CoordinatorMember.start(this.#emulator.host);
    this.#coordinators.push(coordinator);
    await coordinator.ready();
  }
}
