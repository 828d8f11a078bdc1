import type { Database } from "../../database/index.js";
import { sleep } from "../../environment/index.js";
import type { RowStore } from "../../store/index.js";
import { memoryStore } from "../../store/memory/index.js";
import { settle } from "../exploration/settle.js";
import { ProtocolWatcher, type Violation } from "../invariants/index.js";
import { DistantStore, type Network, type SeededRandom, WatchedStore } from "../world/index.js";
import { Incidents } from "./network/incidents.js";
import { ElectedOracle, type OracleService, SingleOracle } from "./network/oracles.js";
import { Wire } from "./network/wire.js";
import { noCounts } from "./plan/counts.js";
import { Fates } from "./plan/fate.js";
import type { Plan } from "./plan/plan.js";
import type { Workload } from "./process/client.js";
import { ClientLife, type ClientLifeOptions } from "./process/client-life.js";
import type { SimulatedFolder } from "./process/folder.js";
import { isExplained, SimulatedProcess, showError } from "./process/process.js";
import type { RunOptions, RunResult } from "./run-result.js";
import { Machine, trueClocks } from "./world/machine.js";
import { World } from "./world/world.js";

/** Events of a run of length 1 after which clients begin no more steps. */
const usualEvents = 1_200;
/** Events within which a client ends that can begin no more steps. */
const maxLastEvents = 20_000;
/** Steps and sleeps that are left out before the program counts as endless. */
const maxLeftOut = 10_000;
/** All work must end within this many further events and milliseconds of virtual time. */
const maxEvents = 100_000;
const maxMs = 1_800_000;
const maxRounds = 300;
const roundMs = 1_000;

/** One run: a world, its events, and the checks at the end. */
export class Run {
  readonly #options: RunOptions;
  readonly #workload: Workload;
  readonly #plan: Plan;
  readonly #world: World;
  readonly #counts = noCounts();
  readonly #fates: Fates;
  readonly #store: WatchedStore;
  readonly #folder: SimulatedFolder | undefined;
  readonly #watcher: ProtocolWatcher;
  readonly #oracle: OracleService | undefined;
  readonly #wires: Wire[] = [];
  readonly #incidents: Incidents;
  readonly #lives: ClientLife[] = [];
  readonly #steps: string[] = [];
  readonly #random: SeededRandom;
  #leaders = 0;
  #isHealing = false;
  #failure: string | undefined;

  constructor(
    options: RunOptions,
    random: SeededRandom,
    workload: Workload,
    plan: Plan,
    folder: SimulatedFolder | undefined,
  ) {
    this.#options = options;
    this.#random = random.fork("end");
    this.#workload = workload;
    this.#plan = plan;
    this.#folder = folder;
    const { reduction, trace } = options;
    this.#incidents = new Incidents({
      plan,
      counts: this.#counts,
      reduction,
      world: () => this.#world,
      clientMachine: (index) => this.#lives.find((life) => life.index === index)?.machine,
      oracle: () => this.#oracle,
      beginAgain: (index) => this.#begin(index, 2),
      makeMachine: (name, clocks) => this.#machine(name, clocks),
    });
    this.#world = new World({
      random,
      knowsProcesses: plan.knowsProcesses,
      trace,
      before: (machine) => this.#isHealing || this.#incidents.before(machine),
    });
    this.#fates = new Fates({ plan, counts: this.#counts, reduction, seed: random.seed });
    const bare = folder?.store ?? this.#memory();
    if (folder !== undefined) {
      const clock = new Machine(this.#world, "store");
      folder.now = () => clock.now();
    }
    this.#watcher = new ProtocolWatcher({
      store: bare,
      onViolation: (violation) => this.#violated(violation),
      now: () => this.#world.time,
    });
    this.#store = this.#watchedStore(bare);
    this.#oracle = this.#makeOracle();
  }

  /** Plays the run. */
  async run(): Promise<RunResult> {
    const counts = this.#counts;
    counts.runs = 1;
    counts.stores[this.#plan.store] = 1;
    if (this.#plan.faults.includes("clockOffset")) counts.faults.clockOffset = 1;
    if (this.#plan.faults.includes("clockDrift")) counts.faults.clockDrift = 1;
    try {
      await this.#setUp();
      await this.#live();
      await this.#heal();
      this.#rest();
    } catch (error) {
      this.#failed(showError(error));
    }
    counts.events = this.#world.events;
    counts.virtualMs = Math.round(this.#world.time);
    return {
      failure: this.#failure,
      hash: this.#world.hash.toString(),
      counts,
      plan: this.#plan,
      steps: this.#steps,
      incidents: this.#incidents.happened,
      faults: this.#fates.happened,
    };
  }

  #memory(): RowStore {
    const { store, inlineBytes, mutationCells, pageCells, bulkMutations } = this.#plan;
    return memoryStore({
      environment: new Machine(this.#world, "store"),
      atomicBatches: store !== "rows" && store !== "elected",
      remote: store === "server" ? true : undefined,
      inlineBytes,
      mutationCells,
      pageCells,
      bulkMutations,
    });
  }

  #watchedStore(store: RowStore): WatchedStore {
    const watched = new WatchedStore(store, this.#folder?.order);
    watched.watch(this.#watcher);
    return watched;
  }

  /** Returns a process's connection to the store over `network`. */
  #connect(network: Network): RowStore | Promise<RowStore> {
    const folder = this.#folder;
    if (folder === undefined) return new DistantStore({ store: this.#store, network });
    return this.#world
      .outside(() => folder.open())
      .then((store) => new DistantStore({ store: this.#watchedStore(store), network }));
  }

  #makeOracle(): OracleService | undefined {
    const { store, oracleClocks, leaseMs } = this.#plan;
    if (store === "rows") return new SingleOracle(new Machine(this.#world, "oracle", oracleClocks[0]));
    if (store !== "elected") return undefined;
    const machines = oracleClocks.map((clocks, index) => this.#machine(`oracle ${index + 1}`, clocks));
    return new ElectedOracle(machines, {
      store: this.#store,
      leaseMs,
      wire: (machine) => this.#wire(machine, false),
      onLeading: () => {
        if (this.#leaders++ > 0) this.#counts.takeovers++;
      },
    });
  }

  #machine(name: string, clocks = trueClocks): Machine {
    const machine = new Machine(this.#world, name, clocks);
    this.#world.add(machine);
    return machine;
  }

  #wire(machine: Machine, isClient = true): Wire {
    const wire = new Wire({
      world: this.#world,
      machine,
      counts: this.#counts,
      fate: (sender, number, request) => this.#fates.of(sender, number, request, this.#world.time),
      newestTimestamp: () => this.#watcher.newestTimestamp,
      onTimestamp: (askedAfter, timestamp) => this.#watcher.timestamp(askedAfter, timestamp),
      embeddedEveryMs: this.#folder && this.#plan.groupEveryMs,
    });
    if (isClient) this.#wires.push(wire);
    return wire;
  }

  #process(
    name: string,
    machine: Machine,
    commit: "auto" | "two-phase",
    { isNewest = false, isNear = false } = {},
  ): SimulatedProcess {
    const wire = this.#wire(machine);
    const { tables = [], observers = [], laterObservers = [] } = this.#workload;
    const later = new Set(laterObservers.map((observer) => observer.name));
    const newest = [...observers.filter((observer) => !later.has(observer.name)), ...laterObservers];
    this.#counts.processes++;
    return new SimulatedProcess({
      name,
      world: this.#world,
      machine,
      connect: () => this.#connect(isNear ? this.#near : wire),
      oracle: this.#oracle && this.#watched(this.#oracle.client(machine, wire)),
      plan: this.#plan,
      commit,
      tables,
      observers: isNewest ? newest : observers,
      newest,
      watcher: this.#watcher,
      counts: this.#counts,
      fail: (message) => this.#failed(message),
    });
  }

  /** A network without delay. An LMDB folder takes real time nevertheless. */
  readonly #near: Network = {
    send: async (request) =>
      this.#folder === undefined ? request.apply() : this.#world.outside(() => request.apply()),
  };

  /** Wraps an oracle and checks its answers as its callers receive them. */
  #watched(oracle: ReturnType<OracleService["client"]>): ReturnType<OracleService["client"]> {
    return {
      next: async (options) => {
        const askedAfter = this.#watcher.newestTimestamp;
        const timestamp = await oracle.next(options);
        this.#watcher.timestamp(askedAfter, timestamp);
        return timestamp;
      },
      latest: () => oracle.latest(),
    };
  }

  /** Registers the observers and writes the initial data, without faults. Then lets time pass. */
  async #setUp(): Promise<void> {
    this.#fates.isHealed = true;
    const { setup } = this.#workload;
    const { trace } = this.#options;
    const process = this.#process("setup", this.#machine("setup"), "auto", { isNear: true });
    const done = process.open().then(async (db) => {
      await setup?.(db);
      await process.close();
    });
    await this.#until("the setup", done);
    if (trace !== undefined) trace.length = 0;
    this.#world.time += this.#plan.retentionMs * this.#random.next();
    this.#fates.isHealed = false;
  }

  /** Runs the clients with all faults. */
  async #live(): Promise<void> {
    for (const index of this.#workload.clients.keys()) this.#begin(index, 1);
    const budget = this.#world.events + usualEvents * this.#options.length;
    await settle();
    while (!this.#isOver() && this.#world.events < budget) await this.#step("the clients");
    this.#isHealing = true;
    this.#fates.isHealed = true;
    this.#world.note("network", "nothing goes wrong from here on");
  }

  #begin(index: number, lifeNumber: number): void {
    const name = lifeNumber === 1 ? `P${index + 1}` : `P${index + 1}.${lifeNumber}`;
    const machine = this.#machine(name, this.#plan.clocks[index]);
    const options: ClientLifeOptions = {
      index,
      number: lifeNumber,
      process: this.#process(name, machine, this.#plan.commits[index]!),
      program: this.#workload.clients[index]!,
      hasWorker: this.#plan.workers[index]!,
      world: this.#world,
      counts: this.#counts,
      leftSteps: this.#options.reduction.leftSteps,
      onStep: (step) => this.#steps.push(step),
      isEnding: () => this.#isHealing,
      maxLeftOut: maxLeftOut * this.#options.length,
      fail: (message) => this.#failed(message),
    };
    this.#lives.push(new ClientLife(options));
  }

  #isOver(): boolean {
    return this.#incidents.restarting === 0 && this.#lives.every((life) => life.isOver);
  }

  /**
   * Heals everything and checks for progress. It waits until the clients have ended and no request
   * is in progress. Then a new process resolves the locks and works until nothing is due. In some
   * runs, another process does the same work earlier, while some clients may still be paused.
   */
  async #heal(): Promise<void> {
    await this.#until("one of the clients draining", this.#drainSomewhere());
    if (this.#random.chance(0.06)) await this.#clean("early healer", false, async () => {});
    // Closes the clients that have ended, without waiting for clients that are paused.
    await this.#closeEnded(({ machine }) => machine.pausedUntil <= this.#world.time);
    const last = this.#world.events + maxLastEvents * this.#options.length;
    while (!this.#isOver()) await this.#step(this.#lastSteps(), last);
    await this.#closeEnded();
    while (this.#wires.some((wire) => wire.underWay > 0)) await this.#step("the work in progress");
    await this.#clean("healer", true, async (db, machine) => {
      await this.#workload.check?.(db);
      await db.drain();
      if (this.#random.chance(0.5)) await this.#collectAll(db);
      await resolveLocks(db, machine);
      await this.#checkWhole(db);
    });
  }

  #lastSteps(): string {
    const left = this.#lives.filter((life) => !life.isOver).map(({ doing }) => doing);
    return `what clients do last (${left.join(", ")})`;
  }

  async #closeEnded(which: (life: ClientLife) => boolean = () => true): Promise<void> {
    for (const life of this.#lives)
      if (life.isOver && !life.machine.isStopped && which(life))
        await this.#until(`closing ${life.name}`, life.close());
  }

  /** In some runs, lets a process whose program has ended do the remaining work. */
  async #drainSomewhere(): Promise<void> {
    const life = this.#lives.find(({ machine, isOver }) => isOver && !machine.isStopped);
    if (life === undefined || !this.#random.chance(0.08)) return;
    try {
      await life.db?.drain();
    } catch (error) {
      // The hints may belong to observers that only other processes run.
      if (!isExplained(error) && (error as { readonly code?: unknown }).code !== "OBSERVER") throw error;
    }
  }

  /**
   * `isNear`: requests of the cleaning process take no time, because no other process is left to
   * interfere.
   */
  async #clean(
    name: string,
    isNear: boolean,
    then: (db: Database, machine: Machine) => Promise<void>,
  ): Promise<void> {
    const machine = this.#machine(name);
    const process = this.#process(name, machine, this.#plan.commits[0]!, { isNewest: true, isNear });
    const cleaning = async () => {
      const db = await process.open();
      await resolveLocks(db, machine);
      await db.drain();
      await then(db, machine);
      await process.close();
    };
    await this.#until(`the ${name}`, cleaning());
  }

  async #collectAll(db: Database): Promise<void> {
    await db.collect({ retentionMs: 0 });
    await this.#workload.check?.(db);
    await db.drain();
    await db.collect({ retentionMs: 0 });
    // A collection also deletes expired cells, whose deletes are changes for observers. With a clock
    // that is behind, only this collection may find them.
    await db.drain();
  }

  async #checkWhole(db: Database): Promise<void> {
    const [problem] = await db.check();
    if (problem !== undefined) this.#failed(`db.check() found: ${JSON.stringify(problem)}`);
  }

  #rest(): void {
    if (this.#failure === undefined) this.#watcher.atRest();
  }

  async #until<T>(doing: string, promise: Promise<T>): Promise<T> {
    let isSettled = false;
    const onSettled = () => {
      isSettled = true;
    };
    promise.then(onSettled, onSettled);
    await settle();
    while (!isSettled) await this.#step(doing);
    return promise;
  }

  async #step(doing: string, most = maxEvents * this.#options.length): Promise<void> {
    if (this.#failure !== undefined) throw new Error(this.#failure);
    if (!(await this.#world.step())) {
      throw new Error(`No event is left, but ${doing} did not end.`);
    }
    const { events, time } = this.#world;
    if (events < most && time < maxMs * this.#options.length) return;
    throw new Error(
      `After ${events} events and ${Math.round(time / 1_000)} s of virtual time, ${doing} did not end.`,
    );
  }

  #violated({ invariant, name, where, message }: Violation): void {
    this.#failed(`Invariant ${invariant} (${name}) is broken at ${where}: ${message}`);
  }

  #failed(message: string): void {
    if (this.#failure !== undefined) return;
    this.#failure = message;
    this.#world.note("FAILURE", message);
  }
}

async function resolveLocks(db: Database, machine: Machine): Promise<void> {
  for (let round = 0; round < maxRounds; round++) {
    let standing = 0;
    for await (const lock of db.locks()) if ((await db.resolve(lock)) === "standing") standing++;
    if (standing === 0) return;
    await sleep(machine, roundMs);
  }
  throw new Error(`Locks are left after ${maxRounds} rounds of resolving them.`);
}
