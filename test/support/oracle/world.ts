import type { Environment, Timer } from "../../../src/environment/index.js";
import type { MutationAnswer, RowMutation, RowStore, StoreRequestOptions } from "../../../src/store/index.js";
import { memoryStore } from "../../../src/store/memory/index.js";

interface StandingTimer {
  readonly owner: TestMachine;
  readonly at: number;
  readonly order: number;
  readonly callback: () => void;
}

/** Several machines, one store, and time that passes only when a test says so. */
export class TestWorld {
  /** True time, in milliseconds. */
  time = 0;
  readonly store = memoryStore({ atomicBatches: false });
  readonly timers = new Set<StandingTimer>();
  #order = 0;
  #ids = 0;
  #seed: number;

  constructor(seed = 1) {
    this.#seed = seed;
  }

  random(): number {
    this.#seed = (Math.imul(this.#seed, 1_664_525) + 1_013_904_223) >>> 0;
    return this.#seed / 2 ** 32;
  }

  id(): string {
    return `id-${++this.#ids}`;
  }

  addTimer(owner: TestMachine, callback: () => void, at: number): Timer {
    const timer = { owner, at, order: this.#order++, callback };
    this.timers.add(timer);
    return { cancel: () => this.timers.delete(timer) };
  }

  /** Runs everything that can run without time passing. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
  }

  async advance(ms: number): Promise<void> {
    const end = this.time + ms;
    await this.settle();
    for (;;) {
      const due = [...this.timers]
        .filter((timer) => timer.at <= end && !timer.owner.isPaused)
        .sort((a, b) => a.at - b.at || a.order - b.order)[0];
      if (due === undefined) break;
      this.timers.delete(due);
      this.time = Math.max(this.time, due.at);
      due.callback();
      // One turn is enough, because the code awaits only timers and promises.
      await new Promise((resolve) => setImmediate(resolve));
    }
    this.time = end;
    await this.settle();
  }

  /** Lets time pass until a promise settles. */
  async until<T>(promise: Promise<T>, maxMs = 120_000): Promise<T> {
    let over = false;
    const watch = () => {
      over = true;
    };
    promise.then(watch, watch);
    await this.settle();
    for (let passed = 0; !over && passed < maxMs; passed += 10) await this.advance(10);
    if (!over) throw new Error(`Still not settled after ${maxMs} ms.`);
    return promise;
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
 * twice, with the second answer. `late`: held back. `behind-late`: applied after the first one that
 * is held back.
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

/** A machine with clocks of its own, which a test may pause as a whole. */
export class TestMachine implements Environment {
  readonly processName = "test";
  readonly world: TestWorld;
  /** Speed of its clocks. */
  readonly rate: number;
  /** Wall-clock time at true time 0, in milliseconds. */
  wallStart: number;
  isPaused = false;
  /** The fates of the next mutations, in order. After them the fate is `done`. */
  fates: Fate[] = [];
  /** The mutations that are held back. */
  readonly late: (() => Promise<MutationAnswer>)[] = [];
  /** Number of next reads that fail. */
  failingReads = 0;
  /** Milliseconds that each request takes in each direction. */
  latency: () => number = () => 0;
  readonly store: RowStore;
  #resume: (() => void)[] = [];

  constructor(world: TestWorld, options: { readonly rate?: number; readonly wallStart?: number } = {}) {
    this.world = world;
    this.rate = options.rate ?? 1;
    this.wallStart = options.wallStart ?? 1_700_000_000_000;
    this.store = this.#reach(world.store);
  }

  now(): number {
    return this.wallStart + this.world.time * this.rate;
  }

  monotonic(): number {
    return this.world.time * this.rate;
  }

  random(): number {
    return this.world.random();
  }

  uniqueId(): string {
    return this.world.id();
  }

  isRunning(): undefined {
    return undefined;
  }

  setTimer(callback: () => void, delayMs: number): Timer {
    return this.world.addTimer(this, callback, this.world.time + Math.max(0, delayMs) / this.rate);
  }

  defer(callback: () => void): void {
    setImmediate(callback);
  }

  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    this.isPaused = false;
    for (const resume of this.#resume.splice(0)) resume();
  }

  /** Resolves when the machine runs. Answers to a paused machine wait. */
  async #awake(): Promise<void> {
    while (this.isPaused) await new Promise<void>((resolve) => this.#resume.push(resolve));
  }

  async #travel(): Promise<void> {
    const ms = this.latency();
    if (ms > 0) {
      await new Promise<void>((resolve) => {
        // The network continues while the machine is paused.
        this.world.addTimer(networkOf(this.world), resolve, this.world.time + ms);
      });
    }
  }

  #reach(store: RowStore): RowStore {
    const readRow: RowStore["readRow"] = async (read, options) => {
      if (this.failingReads > 0) {
        this.failingReads--;
        throw new Error("The store cannot be reached.");
      }
      await this.#travel();
      const page = await store.readRow(read, omitSignal(options));
      await this.#travel();
      await this.#awake();
      return page;
    };
    const mutate: RowStore["mutate"] = async (mutation) => {
      await this.#travel();
      const answer = await this.#meet(store, mutation, this.fates.shift() ?? "done");
      await this.#travel();
      await this.#awake();
      return answer;
    };
    return Object.assign(Object.create(store) as RowStore, {
      readRow,
      mutate,
      prepare: (tables: readonly string[]) => store.prepare(tables),
    });
  }

  async #meet(store: RowStore, mutation: RowMutation, fate: Fate): Promise<MutationAnswer> {
    if (fate === "fails") throw new Error("The store cannot be reached.");
    if (fate === "request-lost") return "unknown";
    if (fate === "late") {
      this.late.push(() => store.mutate(mutation));
      return "unknown";
    }
    if (fate === "behind-late") await this.late.shift()?.();
    const answer = await store.mutate(mutation);
    if (fate === "twice") return await store.mutate(mutation);
    if (fate === "silent") return await new Promise<never>(() => undefined);
    return fate === "answer-lost" ? "unknown" : answer;
  }
}

function omitSignal(_options: StoreRequestOptions | undefined): undefined {
  return undefined;
}

const networks = new WeakMap<TestWorld, TestMachine>();

function networkOf(world: TestWorld): TestMachine {
  let network = networks.get(world);
  if (network === undefined) {
    network = new TestMachine(world);
    networks.set(world, network);
  }
  return network;
}
