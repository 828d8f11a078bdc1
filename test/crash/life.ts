import { join } from "node:path";
import type { Database } from "percolatordb";
import { undividedRequests } from "../../src/store/lmdb/write/queue.js";
import { patienceMs, pause, until } from "../support/waiting.js";
import type { Generation } from "./app.js";
import type { Failpoint } from "./failpoints.js";
import { lockHeldBy } from "./lock-file.js";
import { operation, perform } from "./operations.js";
import type { Random } from "./random.js";
import { openForCheck, verify } from "./verify.js";
import type { Role, VictimOrders } from "./victim.js";
import { Victim } from "./victim-process.js";

/** What happens to the first process of a round. */
export type Fault =
  | { readonly type: "kill"; readonly afterMs: number }
  | { readonly type: "stop"; readonly afterMs: number; readonly afterwards: "continue" | "kill" }
  | { readonly type: "failpoint"; readonly failpoint: Failpoint; readonly afterwards: "continue" | "kill" };

/** One round: processes on one folder, the first of which is killed or stopped. */
export interface Plan {
  readonly commit: "auto" | "two-phase";
  readonly roles: readonly [Role, ...Role[]];
  readonly fault: Fault;
  /** Raises the observers' version, or adds the late observer. */
  readonly renews: boolean;
  /** Has so many operations at a time that the folder divides them over groups. */
  readonly isCrowded: boolean;
}

/** The counts of what happened in the rounds. */
export interface Tally {
  rounds: number;
  kills: number;
  stops: number;
  /**
   * Rounds in which a process was stopped while it held one of LMDB's locks. Other processes could
   * read, but could write only after the lock was released.
   */
  stopsInLock: number;
  /** Planned failpoints that were reached. */
  struck: number;
  planned: number;
  /** Operations whose commit was confirmed to a process. */
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
/** The folder plans half of these requests while LMDB writes the other half. */
export const crowd = 4 * undividedRequests;
/** The least time for which the other processes continue after one was struck. */
const goesOnMs = 30;

/** The life of one folder. Each round continues with what the previous round has left there. */
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

  /** Plays one round and verifies the state of the database afterwards. */
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

  /** Kills the processes that were started in advance for a next round. */
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
    const { fault } = plan;
    const failpoint = index === 0 && fault.type === "failpoint" ? fault.failpoint : undefined;
    const orders: VictimOrders = {
      folder: this.folder,
      journal: join(this.#journals, `journal-${writer}`),
      writer,
      role,
      commit: plan.commit,
      generation: this.#generation,
      failpoint,
      concurrency: plan.isCrowded ? crowd : role === "load" ? 8 : 4,
      leavesLocks: plan.commit === "two-phase" && failpoint !== undefined,
      lockTtlMs,
      durability: "full",
      most: plan.isCrowded ? 4_000 : 400,
      // A process with a failpoint must end by itself if it does not reach the failpoint. All other
      // processes wait to be killed.
      stays: failpoint === undefined,
    };
    return { victim, orders };
  }

  async #strike(
    { fault, commit }: Plan,
    victims: readonly { victim: Victim; orders: VictimOrders }[],
    random: Random,
  ): Promise<void> {
    const [first, ...rest] = victims;
    const { victim } = first!;
    const begun = victims.map(({ victim, orders }) => victim.start(orders));
    await begun[0];
    if (fault.type === "failpoint") {
      this.#tally.planned++;
      await until(() => victim.hasEnded || victim.isStopped);
      if (victim.isStopped || victim.end === "SIGKILL") this.#tally.struck++;
      if (victim.isStopped) await this.#whileStopped(victim, fault.afterwards, commit, random);
    } else {
      await pause(fault.afterMs);
      if (fault.type === "stop") {
        victim.signal("SIGSTOP");
        if (await until(() => victim.isStopped || victim.hasEnded)) {
          if (victim.isStopped) await this.#whileStopped(victim, fault.afterwards, commit, random);
        }
      } else victim.signal("SIGKILL");
    }
    await Promise.all(begun);
    await this.#othersGoOn(rest.map((each) => each.victim));
  }

  /**
   * While a process is stopped, this process writes and reads. Then the stopped process is resumed
   * or killed.
   */
  async #whileStopped(
    victim: Victim,
    afterwards: "continue" | "kill",
    commit: "auto" | "two-phase",
    random: Random,
  ): Promise<void> {
    this.#tally.stops++;
    const finish = () => victim.signal(afterwards === "kill" ? "SIGKILL" : "SIGCONT");
    // Opening a database waits for LMDB's locks and blocks the event loop meanwhile. So it must not
    // happen while the stopped process holds a lock.
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
        timeoutMs: patienceMs,
        label: "beside a stopped process",
      });
      this.#told.add(task.name);
    }
  }

  /**
   * The processes that were not struck must commit more operations or finish their work. Then they
   * are killed too.
   */
  async #othersGoOn(others: readonly Victim[]): Promise<void> {
    for (const other of others) {
      const before = other.told.length;
      const hasGoneOn = () => other.hasEnded || other.isDone || other.told.length > before;
      if (await until(hasGoneOn)) continue;
      const told = others.map((each) => each.told.length).join(", ");
      throw new Error(
        `A process had ${before} operations, and did not go on after a fault to another. They now have ${told}. ${other.errors}`,
      );
    }
    if (others.length > 0) await pause(goesOnMs);
  }
}
