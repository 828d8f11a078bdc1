import type { Database } from "percolatordb";
import { temporaryFolder } from "../support/databases.js";
import { patienceMs, until } from "../support/waiting.js";
import { type CoordinatorMember, Member, type MemberOptions } from "./members.js";
import { makePlace, type Place, type StoreName } from "./places.js";
import { openForCheck, verify } from "./verify.js";

/** The stores of clusters. */
export const clusterStores = ["bigtable", "postgres"] as const satisfies readonly StoreName[];
export type ClusterStore = (typeof clusterStores)[number];

export interface ClusterOptions {
  /** Default: Bigtable's emulator. */
  readonly store?: ClusterStore | undefined;
  /** The number of coordinators on Bigtable. PostgreSQL has none. */
  readonly coordinators?: number | undefined;
  readonly members: number;
}

type Folder = Awaited<ReturnType<typeof temporaryFolder>>;

/**
 * Real processes on one server: members that write and run observers, and on Bigtable coordinators,
 * one of which is the leader.
 */
export class ProcessCluster implements AsyncDisposable {
  readonly place: Place;
  readonly members: Member[] = [];
  readonly #folder: Folder;
  /** All members that ever took part. Commits confirmed to an ended member must stay, too. */
  readonly #everybody: Member[] = [];
  #db: Database | undefined;

  private constructor(place: Place, folder: Folder) {
    this.place = place;
    this.#folder = folder;
  }

  static async start({ store = "bigtable", coordinators, members }: ClusterOptions): Promise<ProcessCluster> {
    const place = await makePlace(store, coordinators);
    const cluster = new ProcessCluster(place, await temporaryFolder());
    try {
      cluster.#db = await openForCheck(place.direct);
      for (let count = 0; count < members; count++) await cluster.addMember();
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
  leader(): Promise<CoordinatorMember> {
    return this.place.leader!();
  }

  /** Starts another member, without waiting for it. */
  async addMember(options: Partial<MemberOptions> = {}): Promise<Member> {
    const number = this.#everybody.length + 1;
    const member = await Member.start({
      place: this.place,
      name: `m${number}`,
      commit: number % 2 === 0 ? "two-phase" : "auto",
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
    await this.place.replaceCoordinators?.();
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
    const done = await verify(this.db, told);
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
    await this.place[Symbol.asyncDispose]();
    await this.#folder.remove();
  }
}
