import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { bigtableLocation } from "../support/databases.js";
import type { NetworkNamespace } from "../support/namespace/index.js";
import { ProgramProcess } from "../support/program-process.js";
import { NetworkProxy } from "../support/proxy/index.js";
import type { ChildOrders } from "./child-orders.js";
import type { Place } from "./places.js";

/** Shorter than all defaults, so that a test need not wait. */
export const times = { lockTtlMs: 2_000, deadlineMs: 1_500, leaseMs: 1_500 } as const;

export interface MemberOptions {
  readonly place: Place;
  readonly name: string;
  /** On Bigtable, both commit in two phases. */
  readonly commit: "auto" | "two-phase";
  /** The folder for its journal. */
  readonly folder: string;
  readonly writing: number;
  readonly working: number;
  /** How long Bigtable may take to answer the process. Default: a short time for tests. */
  readonly deadlineMs?: number | undefined;
  /**
   * The network namespace of the process. From there the process reaches everything through proxies
   * on the host.
   */
  readonly namespace?: NetworkNamespace | undefined;
  /**
   * `HOST:PORT` of the coordinator, which the process reaches through a separate proxy. Default:
   * the process finds the coordinator by the lease.
   */
  readonly coordinator?: string | undefined;
}

/** A process that writes, runs observers, or does both. A proxy is between it and the store. */
export class Member implements AsyncDisposable {
  readonly name: string;
  readonly process: ProgramProcess;
  readonly store: NetworkProxy;
  /** The proxy between it and the coordinator, if it has a separate one. */
  readonly coordinator: NetworkProxy | undefined;
  readonly #orders: ChildOrders;

  private constructor(
    process: ProgramProcess,
    store: NetworkProxy,
    coordinator: NetworkProxy | undefined,
    orders: ChildOrders,
  ) {
    this.name = orders.writer;
    this.process = process;
    this.store = store;
    this.coordinator = coordinator;
    this.#orders = orders;
  }

  /** Starts a member. Use {@link ready} to wait for it. */
  static async start(options: MemberOptions): Promise<Member> {
    const { namespace, name, commit, writing, working } = options;
    const host = namespace?.hostAddress;
    const { connection, network } = await options.place.connect(host);
    const coordinator =
      options.coordinator === undefined ? undefined : await NetworkProxy.start(options.coordinator, host);
    const process = new ProgramProcess("test/cluster/child.ts", [], { namespace });
    const orders: ChildOrders = {
      connection,
      commit,
      coordinator: coordinator?.address,
      journal: `${options.folder}/journal-${name}`,
      writer: name,
      writing,
      working,
      lockTtlMs: times.lockTtlMs,
      deadlineMs: options.deadlineMs ?? times.deadlineMs,
    };
    process.tell(JSON.stringify(orders));
    return new Member(process, network!, coordinator, orders);
  }

  ready(): Promise<void> {
    return this.process.said((line) => line === "started");
  }

  /** The number of its concurrent operations. */
  get writing(): number {
    return this.#orders.writing;
  }

  /** The operations whose commit was confirmed to it. */
  get told(): readonly string[] {
    try {
      // An incomplete last line was still being written when the process was killed.
      return readFileSync(this.#orders.journal, "utf8").split("\n").slice(0, -1);
    } catch {
      return [];
    }
  }

  /**
   * Tells the process to finish its writes. Resolves when it writes no more. Its observers continue
   * to run.
   */
  async rest(): Promise<void> {
    const from = this.process.lines.length;
    this.process.tell("rest");
    await this.process.said((line) => line === "resting", from);
  }

  go(): void {
    this.process.tell("go");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.process.kill();
    await this.store.close();
    await this.coordinator?.close();
  }
}

/**
 * A coordinator started by the command line, with one proxy between it and the store, and another
 * between it and its clients.
 */
export class CoordinatorMember implements AsyncDisposable {
  readonly process: ProgramProcess;
  readonly store: NetworkProxy;
  readonly clients: NetworkProxy;

  private constructor(process: ProgramProcess, store: NetworkProxy, clients: NetworkProxy) {
    this.process = process;
    this.store = store;
    this.clients = clients;
  }

  static async start(emulatorHost: string, leaseMs: number = times.leaseMs): Promise<CoordinatorMember> {
    const listen = `127.0.0.1:${await freePort()}`;
    const store = await NetworkProxy.start(emulatorHost);
    const clients = await NetworkProxy.start(listen);
    const process = new ProgramProcess(
      "src/cli/main.ts",
      [
        "coordinator",
        bigtableLocation,
        "--listen",
        listen,
        "--advertise",
        clients.address,
        "--lease",
        `${leaseMs}ms`,
        "--json",
      ],
      { env: { BIGTABLE_EMULATOR_HOST: store.address } },
    );
    return new CoordinatorMember(process, store, clients);
  }

  /** Resolves when it is the leader, or stands by for another leader. */
  ready(): Promise<void> {
    return this.process.said((line) => /"leading"|"standby".*"leader":"/.test(line));
  }

  /** The `HOST:PORT` by which clients reach it. */
  get address(): string {
    return this.clients.address;
  }

  /** Whether it is the leader, by its latest output about that. */
  get leads(): boolean {
    const said = this.process.lines.findLast((line) => /"(leading|standby)"/.test(line));
    return said?.includes('"leading"') ?? false;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.process.kill();
    await this.store.close();
    await this.clients.close();
  }
}

/** Returns a port of this machine on which nothing listens now. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
