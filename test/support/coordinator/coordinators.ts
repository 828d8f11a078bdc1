import { type CoordinatorClient, connectCoordinator } from "../../../src/coordinator/client/client.js";
import type { ConnectOptions } from "../../../src/coordinator/client/connect-options.js";
import { type Coordinator, startCoordinator } from "../../../src/coordinator/server/coordinator.js";
import type { CoordinatorOptions } from "../../../src/coordinator/server/coordinator-options.js";
import { type Environment, systemEnvironment } from "../../../src/environment/index.js";
import type { RowStore } from "../../../src/store/index.js";
import { memoryStore } from "../../../src/store/memory/index.js";

const slower = 20;

/** An environment with slow time, so that no answer of a busy machine arrives too late. */
export const unhurried: Environment = {
  ...systemEnvironment,
  monotonic: () => systemEnvironment.monotonic() / slower,
  setTimer: (callback, delayMs, options) => systemEnvironment.setTimer(callback, delayMs * slower, options),
};

/** Coordinators and clients in this process, over real sockets. Closing it closes all of them. */
export class Coordinators {
  readonly #environment: Environment;
  /** A store of one-row mutations, which the coordinators of a cluster share. */
  readonly store: RowStore = memoryStore({ atomicBatches: false });
  readonly #opened: (() => Promise<void>)[] = [];

  constructor(environment: Environment = systemEnvironment) {
    this.#environment = environment;
  }

  /** Starts a coordinator whose lease never expires by itself, however busy the machine is. */
  async start(options: Partial<CoordinatorOptions> = {}): Promise<Coordinator> {
    const place = { store: this.store, environment: this.#environment };
    const coordinator = await startCoordinator({ ...place, leaseMs: 3_600_000, ...options });
    this.#opened.push(() => coordinator.stop());
    return coordinator;
  }

  /** Starts a coordinator and waits until it leads. */
  async lead(options: Partial<CoordinatorOptions> = {}): Promise<Coordinator> {
    let coordinator: Coordinator | undefined;
    await new Promise<void>((resolve, reject) => {
      const onChange = ({ role }: { readonly role: string }) => {
        if (role === "leading") resolve();
      };
      this.start({ ...options, onChange }).then((started) => {
        coordinator = started;
      }, reject);
    });
    return coordinator!;
  }

  client(options: Partial<ConnectOptions> = {}): CoordinatorClient {
    const place = options.addresses === undefined ? { store: this.store } : {};
    const client = connectCoordinator({ environment: this.#environment, ...place, ...options });
    this.#opened.push(() => client.close());
    return client;
  }

  /** Returns a client with a session. */
  async member(session: string, options: Partial<ConnectOptions> = {}): Promise<CoordinatorClient> {
    const client = this.client(options);
    await client.cluster.join(session);
    return client;
  }

  async close(): Promise<void> {
    for (const close of this.#opened.splice(0).reverse()) await close();
  }
}
