import { join } from "node:path";
import type { Database } from "percolatordb";
import { patienceMs, pause, until } from "../support/waiting.js";
import type { Generation } from "./app.js";
import type { Failpoint } from "./failpoints.js";
import { lockHeldBy } from "./lock-file.js";
import { operation, perform } from "./operations.js";
import type { Random } from "./random.js";
import { openForCheck, verify } from "./verify.js";
import type { Role, VictimOrders } from "./victim.js";
import { Victim } from "./victim-process.js";

/** How the first process of a round ends. */
export type Blow =
  | { readonly type: "kill"; readonly afterMs: number }
  | { readonly type: "stop"; readonly afterMs: number; readonly afterwards: "continue" | "kill" }
  | { readonly type: "failpoint"; readonly failpoint: Failpoint; readonly afterwards: "continue" | "kill" };

/** One round: processes on one folder, the first of which is struck. */
export interface Plan {
  readonly commit: "auto" | "two-phase";
  readonly roles: readonly [Role, ...Role[]];
  readonly blow: Blow;
  /** Raises the observers' version, or brings the late observer. */
  readonly renews: boolean;
}

/** What rounds came to. */
export interface Tally {
  rounds: number;
  kills: number;
  stops: number;
  /** Stops while it held one of LMDB's locks: others could read, and write only when that was over. */
  stopsInLock: number;
  /** Failpoints that were reached, of those planned. */
  struck: number;
  planned: number;
  /** Operations of which processes were told that they committed. */
  told: number;
}

export const newTally = (): Tally => ({
  rounds: 0,
  kills: 0,
  stops: 0,
  stopsInLock: 0,
  struck: 0,
  planned: 0,
  told: 0,
});

const lockTtlMs = 120;
/** How long a process goes on after the blow to another, at least. */
const goesOnMs = 30;

/** The life of one folder through many rounds. */
export class Life {
  readonly folder: string;
  readonly #journals: string;
  readonly #tally: Tally;
  readonly #told = new Set<string>();
  #generation: Generation = { version: 1, late: false };
  #rounds = 0;
  #standby: Victim[] = [];

  constructor(path: string, tally: Tally) {
    this.folder = join(path, "data");
    this.#journals = path;
    this.#tally = tally;
  }

  /** Plays one round and verifies what it left. */
  async play(plan: Plan, random: Random): Promise<void> {
    this.#rounds++;
    if (plan.renews) {
      const { version, late } = this.#generation;
      this.#generation = late ? { version: version + 1, late } : { version, late: true };
    }
    const victims = plan.roles.map((role, index) => this.#take(role, index, plan));
    try {
      await this.#strike(plan, victims, random);
    } finally {
      for (const { victim } of victims) await victim.kill();
    }
    this.#prepare(plan.roles.length);
    for (const { victim } of victims) {
      for (const name of victim.told) this.#told.add(name);
      this.#tally.told += victim.told.length;
      if (victim.end === "SIGKILL") this.#tally.kills++;
      else if (victim.end !== "0") throw new Error(`A process ended with ${victim.end}: ${victim.errors}`);
    }
    await verify({
      folder: this.folder,
      generation: this.#generation,
      told: this.#told,
      commit: random.pick(["auto", "two-phase"]),
    });
    this.#tally.rounds++;
  }

  /** Ends processes that wait for a round that will not come. */
  async end(): Promise<void> {
    for (const victim of this.#standby.splice(0)) await victim.kill();
  }

  #prepare(count: number): void {
    while (this.#standby.length < count) this.#standby.push(new Victim());
  }

  #take(role: Role, index: number, plan: Plan): { victim: Victim; orders: VictimOrders } {
    this.#prepare(1);
    const victim = this.#standby.shift()!;
    const writer = `r${this.#rounds}.${index}`;
    const { blow } = plan;
    const failpoint = index === 0 && blow.type === "failpoint" ? blow.failpoint : undefined;
    const orders: VictimOrders = {
      folder: this.folder,
      journal: join(this.#journals, `journal-${writer}`),
      writer,
      role,
      commit: plan.commit,
      generation: this.#generation,
      failpoint,
      concurrency: role === "load" ? 8 : 4,
      haunted: plan.commit === "two-phase" && failpoint !== undefined,
      lockTtlMs,
      durability: "full",
      most: 400,
      // One that never comes to its failpoint ends by itself; all others live until they are ended.
      stays: failpoint === undefined,
    };
    return { victim, orders };
  }

  async #strike(
    { blow, commit }: Plan,
    victims: readonly { victim: Victim; orders: VictimOrders }[],
    random: Random,
  ): Promise<void> {
    const [first, ...rest] = victims;
    const { victim } = first!;
    const begun = victims.map(({ victim, orders }) => victim.start(orders));
    await begun[0];
    if (blow.type === "failpoint") {
      this.#tally.planned++;
      await until(() => victim.hasEnded || victim.isStopped);
      if (victim.isStopped || victim.end === "SIGKILL") this.#tally.struck++;
      if (victim.isStopped) await this.#whileStopped(victim, blow.afterwards, commit, random);
    } else {
      await pause(blow.afterMs);
      if (blow.type === "stop") {
        victim.signal("SIGSTOP");
        if (await until(() => victim.isStopped || victim.hasEnded)) {
          if (victim.isStopped) await this.#whileStopped(victim, blow.afterwards, commit, random);
        }
      } else victim.signal("SIGKILL");
    }
    await Promise.all(begun);
    await this.#othersGoOn(rest.map((each) => each.victim));
  }

  /** Another process, this one, writes and reads beside one that is stopped; then that one goes on, or is killed. */
  async #whileStopped(
    victim: Victim,
    afterwards: "continue" | "kill",
    commit: "auto" | "two-phase",
    random: Random,
  ): Promise<void> {
    this.#tally.stops++;
    const finish = () => victim.signal(afterwards === "kill" ? "SIGKILL" : "SIGCONT");
    // To open waits for LMDB's locks without letting anything else run: so not while a stopped process holds it.
    if (lockHeldBy(this.folder, victim.pid) !== undefined) {
      this.#tally.stopsInLock++;
      finish();
    }
    await using db = await openForCheck(this.folder, this.#generation, commit);
    await this.#writeBeside(db, random);
    if (!victim.isStopped) return;
    finish();
    const before = victim.told.length;
    if (afterwards === "continue") {
      const hasGoneOn = () => victim.hasEnded || victim.isDone || victim.told.length > before + 5;
      await until(hasGoneOn, 2_000);
    }
    victim.signal("SIGTERM");
    await until(() => victim.hasEnded, 2_000);
  }

  async #writeBeside(db: Database, random: Random): Promise<void> {
    const writer = `r${this.#rounds}.beside${random.below(1_000)}`;
    for (let number = 0; number < 8; number++) {
      const task = operation(writer, number);
      await db.transact((tx) => perform(tx, task), {
        isolation: task.isolation,
        timeoutMs: patienceMs / 4,
        label: "beside a stopped process",
      });
      this.#told.add(task.name);
    }
  }

  /** Processes that were not struck must be told of more commits, or do all that they were to do; then they are killed too. */
  async #othersGoOn(others: readonly Victim[]): Promise<void> {
    for (const other of others) {
      const before = other.told.length;
      const hasGoneOn = () => other.hasEnded || other.isDone || other.told.length > before;
      const went = await until(hasGoneOn, patienceMs / 4);
      if (!went) throw new Error(`A process did not go on after a blow to another. ${other.errors}`);
    }
    if (others.length > 0) await pause(goesOnMs);
  }
}
