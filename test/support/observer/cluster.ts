import type { ClaimKey, Cluster, ClusterActivity } from "../../../src/observer/cluster.js";

/**
 * A cluster's coordinator in this process. Its members get answers after a turn of the event loop,
 * or not at all.
 */
export class TestCluster {
  epoch = "1";
  busyPeriods = 0;
  readonly sessions = new Set<string>();
  readonly ended = new Set<string>();
  readonly busy = new Set<string>();
  /** Claimed rows, with their owners. */
  readonly claims = new Map<string, string>();
  /** Largest number of claims so far. */
  maxClaims = 0;
  /** How often a member reported that it is busy, and that it is quiet. */
  told = { busy: 0, quiet: 0 };

  member(): TestMember {
    return new TestMember(this);
  }

  end(session: string): void {
    this.sessions.delete(session);
    this.busy.delete(session);
    this.ended.add(session);
    for (const [key, holder] of this.claims) if (holder === session) this.claims.delete(key);
  }
}

export class TestMember implements Cluster {
  readonly #service: TestCluster;
  session = "";
  /** Whether this member gets no answers. */
  isAway = false;

  constructor(service: TestCluster) {
    this.#service = service;
  }

  async join(session: string): Promise<void> {
    this.session = session;
    await undefined;
    if (!this.isAway) this.#service.sessions.add(session);
  }

  async leave(): Promise<void> {
    if (this.session !== "") this.#service.end(this.session);
  }

  async alive(session: string): Promise<boolean | undefined> {
    await undefined;
    if (this.isAway) return undefined;
    const { sessions, ended } = this.#service;
    return sessions.has(session) ? true : ended.has(session) ? false : undefined;
  }

  async claim(key: ClaimKey): Promise<boolean> {
    await undefined;
    if (this.isAway) return true;
    const name = Buffer.from(key).toString("latin1");
    const { claims } = this.#service;
    const holder = claims.get(name);
    if (holder === undefined) claims.set(name, this.session);
    this.#service.maxClaims = Math.max(this.#service.maxClaims, claims.size);
    return holder === undefined || holder === this.session;
  }

  release(key: ClaimKey): void {
    const name = Buffer.from(key).toString("latin1");
    if (this.#service.claims.get(name) === this.session) this.#service.claims.delete(name);
  }

  async busy(): Promise<void> {
    await undefined;
    if (this.isAway) return;
    this.#service.told.busy++;
    if (!this.#service.busy.has(this.session)) this.#service.busyPeriods++;
    this.#service.busy.add(this.session);
  }

  quiet(): void {
    this.#service.told.quiet++;
    this.#service.busy.delete(this.session);
  }

  async activity(): Promise<ClusterActivity | undefined> {
    await undefined;
    if (this.isAway) return undefined;
    const { epoch, busyPeriods, sessions, busy } = this.#service;
    return { epoch, busyPeriods, sessions: new Set(sessions), busy: new Set(busy) };
  }
}
