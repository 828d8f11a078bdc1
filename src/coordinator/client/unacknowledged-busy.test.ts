import { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import { systemEnvironment } from "../../environment/index.js";
import { type Member, MembershipTable } from "../membership/membership-table.js";
import type { SessionReply, SessionRequest } from "../wire/messages.js";
import type { LeaderConnection } from "./leader-connection.js";
import { RemoteCluster } from "./remote-cluster.js";

/** A connection that a test can cut. The coordinator's membership table stays the same. */
class CutConnection {
  readonly table = new MembershipTable("e");
  isCut = false;
  #streams: CutStream[] = [];

  async ask<T>(
    _doing: string,
    signal: AbortSignal,
    question: (channel: object, signal: AbortSignal) => Promise<T>,
  ) {
    if (this.isCut) throw new Error("nobody answers");
    const open = () => {
      const stream = new CutStream(this.table);
      this.#streams.push(stream);
      return stream;
    };
    return await question({ address: "a:1", open }, signal ?? new AbortController().signal);
  }

  async failed(_channel: object, failure: unknown): Promise<unknown> {
    return failure;
  }

  cut(): void {
    this.isCut = true;
    for (const stream of this.#streams.splice(0)) stream.cut();
  }
}

class CutStream extends EventEmitter {
  readonly #table: MembershipTable;
  #member: Member | undefined;

  constructor(table: MembershipTable) {
    super();
    this.#table = table;
  }

  write({ join, steps }: SessionRequest): void {
    if (join !== undefined) this.#member = this.#table.join(join, () => undefined);
    for (const step of steps) {
      if (step.type === "busy") this.#member!.busy();
      if (step.type === "quiet") this.#member!.quiet();
    }
    const reply: SessionReply = { epoch: join === undefined ? undefined : this.#table.epoch, granted: [] };
    setImmediate(() => this.emit("data", reply));
  }

  cut(): void {
    this.#member?.end();
    this.emit("error", new Error("cut"));
  }

  end(): void {
    this.#member?.end();
    this.emit("end");
  }

  cancel(): void {
    this.#member?.end();
  }
}

test("a busy period that was not acknowledged is reported after the next connection, even if it has ended", async () => {
  const connection = new CutConnection();
  const cluster = new RemoteCluster({
    connection: connection as unknown as LeaderConnection,
    environment: systemEnvironment,
    attemptMs: 1_000,
    onFailure: () => undefined,
  });
  await cluster.join("s");
  await cluster.busy();
  cluster.quiet();
  await expect
    .poll(() => connection.table.activity())
    .toMatchObject({ busyPeriods: 1, sessions: ["s"], busy: [] });
  connection.cut();
  expect(connection.table.activity().sessions).toEqual([]);
  await cluster.busy();
  cluster.quiet();
  connection.isCut = false;
  // The second busy period is counted. A process that compares this activity with an earlier one
  // therefore sees that something ran in between.
  await expect
    .poll(() => connection.table.activity(), { timeout: 30_000 })
    .toMatchObject({ busyPeriods: 2, sessions: ["s"], busy: [] });
  await cluster.leave();
});
