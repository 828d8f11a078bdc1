import type { Database } from "percolatordb";
import { openBigtableStore } from "percolatordb/bigtable";
import { oracleTable } from "../../src/oracle/index.js";
import { bigtableLocation, temporaryFolder } from "../support/databases.js";
import { type Emulator, startEmulator } from "../support/emulator/index.js";
import { patienceMs, until } from "../support/waiting.js";
import { CoordinatorMember, Member, type MemberOptions } from "./members.js";
import { openForCheck, verify } from "./verify.js";

/** The number of processes in a cluster. */
export interface ClusterSize {
  readonly coordinators: number;
  readonly members: number;
}

type Folder = Awaited<ReturnType<typeof temporaryFolder>>;

/**
 * Real processes on one emulator: coordinators, one of which is the leader, and members that write
 * and run observers.
 */
export class ProcessCluster implements AsyncDisposable {
  readonly emulator: Emulator;
  readonly coordinators: CoordinatorMember[] = [];
  readonly members: Member[] = [];
  readonly #folder: Folder;
  /** All members that ever took part. Commits confirmed to an ended member must stay, too. */
  readonly #everybody: Member[] = [];
  #db: Database | undefined;

  private constructor(emulator: Emulator, folder: Folder) {
    this.emulator = emulator;
    this.#folder = folder;
  }

  static async start(size: ClusterSize): Promise<ProcessCluster> {
    const cluster = new ProcessCluster(await startEmulator(), await temporaryFolder());
    try {
      await makeTables(cluster.emulator.host);
      for (let count = 0; count < size.coordinators; count++) await cluster.addCoordinator();
      await Promise.all(cluster.coordinators.map((coordinator) => coordinator.ready()));
      cluster.#db = await openForCheck(cluster.emulator.host);
      for (let count = 0; count < size.members; count++) await cluster.addMember();
      await Promise.all(cluster.members.map((member) => member.ready()));
      return cluster;
    } catch (error) {
      await cluster[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** The database as opened by the test's own process. */
  get db(): Database {
    return this.#db!;
  }

  /** Returns the coordinator that is the leader. */
  async leader(): Promise<CoordinatorMember> {
    const find = () => this.coordinators.find(({ leads, process }) => leads && !process.hasEnded);
    if (await until(() => find() !== undefined)) return find()!;
    throw new Error("No coordinator leads.");
  }

  /** Starts another coordinator, without waiting for it. */
  async addCoordinator(): Promise<CoordinatorMember> {
    const coordinator = await CoordinatorMember.start(this.emulator.host);
    this.coordinators.push(coordinator);
    return coordinator;
  }

  /** Starts another member, without waiting for it. */
  async addMember(options: Partial<MemberOptions> = {}): Promise<Member> {
    const member = await Member.start({
      emulatorHost: this.emulator.host,
      name: `m${this.#everybody.length + 1}`,
      folder: this.#folder.path,
      writing: 3,
      working: 6,
      ...options,
    });
    this.members.push(member);
    this.#everybody.push(member);
    return member;
  }

  /** Starts new processes in place of those that have ended. */
  async replace(): Promise<void> {
    for (const coordinator of this.coordinators.filter(({ process }) => process.hasEnded)) {
      this.coordinators.splice(this.coordinators.indexOf(coordinator), 1);
      await coordinator[Symbol.asyncDispose]();
      await (await this.addCoordinator()).ready();
    }
    for (const member of this.members.filter(({ process }) => process.hasEnded)) {
      this.members.splice(this.members.indexOf(member), 1);
      await member[Symbol.asyncDispose]();
      await (await this.addMember()).ready();
    }
  }

  /**
   * Waits until each of these members has `commits` more confirmed commits. Throws if that takes
   * too long for a member.
   */
  async goesOn(commits: number, members: readonly Member[] = this.members): Promise<void> {
    await Promise.all(
      members.map(async (member) => {
        const before = member.told.length;
        const { process } = member;
        await until(() => process.hasEnded || member.told.length >= before + commits, patienceMs);
        if (member.told.length >= before + commits) return;
        throw new Error(
          `${member.name} does not go on: ${member.told.length - before} commits. ${process.lines.slice(-5).join(", ")} ${process.errors}`,
        );
      }),
    );
  }

  /**
   * Lets all members finish their writes, verifies everything stored, and lets them continue.
   * Returns how many operations are stored.
   */
  async verify(): Promise<number> {
    await Promise.all(this.members.map((member) => member.rest()));
    const told = this.#everybody.flatMap((member) => member.told);
    const done = await verify(this.db, this.emulator.host, told);
    for (const member of this.members) member.go();
    return done;
  }

  /** Ends all members cleanly. */
  async end(): Promise<void> {
    await Promise.all(this.members.map(({ process }) => process.terminate()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // The other processes must live until the database's last requests are answered.
    await this.#db?.close();
    for (const member of this.members) await member[Symbol.asyncDispose]();
    for (const coordinator of this.coordinators) await coordinator[Symbol.asyncDispose]();
    await this.emulator.stop();
    await this.#folder.remove();
  }
}

/** Creates the tables, because coordinators do not create them. */
export async function makeTables(emulatorHost: string): Promise<void> {
  const store = await openBigtableStore(bigtableLocation, { emulatorHost });
  await store.prepare([oracleTable]);
  await store.close();
}
