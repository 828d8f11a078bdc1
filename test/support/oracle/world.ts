import { sleep } from "../../../src/environment/index.js";
import { memoryStore } from "../../../src/store/memory/index.js";
import {
  TestClock,
  TestProcess,
  type TestProcessOptions,
  type UntilOptions,
} from "../../../src/testing/kit/index.js";
import { DistantStore, type Request, SeededRandom } from "../../../src/testing/world/index.js";

/** Several machines, one store, and time that passes only when a test says so. */
export class TestWorld extends TestClock {
  readonly store = memoryStore({ atomicBatches: false });
  /** Its timers fire while machines are suspended. */
  readonly network = this.process({ name: "network" });
  machineCount = 0;

  constructor(seed = 1) {
    super({ seed: String(seed) });
  }

  random(): number {
    return this.network.random();
  }

  /** Like the clock's, with a shorter limit. */
  override until<T>(promise: Promise<T>, { maxMs = 120_000 }: UntilOptions = {}): Promise<T> {
    return super.until(promise, { maxMs });
  }

  /** Lets time pass until a condition holds. */
  async when(isSo: () => boolean, maxMs = 120_000): Promise<void> {
    await this.settle();
    for (let passed = 0; !isSo() && passed < maxMs; passed += 10) await this.advance(10);
    if (!isSo()) throw new Error(`Still not so after ${maxMs} ms.`);
  }
}

/**
 * What happens to a mutation on its way. `silent`: applied, without an answer. `twice`: applied
 * twice, with the second answer. `late`: held back. `behind-late`: applied after the first mutation
 * that is held back.
 */
export type Fate =
  | "done"
  | "answer-lost"
  | "request-lost"
  | "late"
  | "behind-late"
  | "silent"
  | "twice"
  | "fails";

/** A machine with its own connection to the world's store. */
export class TestMachine extends TestProcess {
  readonly world: TestWorld;
  /** The fates of the next mutations, in order. After them the fate is `done`. */
  fates: Fate[] = [];
  /** The mutations that are held back. */
  readonly late: (() => unknown)[] = [];
  /** Number of next reads that fail. */
  failingReads = 0;
  /** Milliseconds that each request takes in each direction. */
  latency: () => number = () => 0;
  readonly store: DistantStore;

  constructor(world: TestWorld, options: TestProcessOptions = {}) {
    const name = `machine-${++world.machineCount}`;
    super(world, name, new SeededRandom(name), options);
    this.world = world;
    const send = <T>(request: Request<T>) => this.#send(request);
    this.store = new DistantStore({ store: world.store, network: { send } });
  }

  async #send<T>(request: Request<T>): Promise<T> {
    if (!request.changes && this.failingReads > 0) {
      this.failingReads--;
      throw new Error("The store cannot be reached.");
    }
    await this.#travel();
    const answer = await (request.changes ? this.#meet(request, this.fates.shift()) : request.apply());
    await this.#travel();
    // Answers to a suspended machine wait.
    await this.turn();
    return answer;
  }

  async #travel(): Promise<void> {
    const ms = this.latency();
    if (ms > 0) await sleep(this.world.network, ms);
  }

  async #meet<T>(request: Request<T>, fate: Fate = "done"): Promise<T> {
    if (fate === "fails") throw new Error("The store cannot be reached.");
    if (fate === "request-lost") return request.lost();
    if (fate === "late") {
      this.late.push(() => request.apply());
      return request.lost();
    }
    if (fate === "behind-late") await this.late.shift()?.();
    const answer = await request.apply();
    if (fate === "twice") return await request.apply();
    if (fate === "silent") return await new Promise<never>(() => undefined);
    return fate === "answer-lost" ? request.lost() : answer;
  }
}
