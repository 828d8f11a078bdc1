import { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import { systemEnvironment } from "../environment/index.js";
import { Board, type Seat } from "./board.js";
import type { Link } from "./link.js";
import type { SessionReply, SessionRequest } from "./messages.js";
import { RemoteCluster } from "./remote-cluster.js";

/** A connection that a test can cut, to a board that stays the same. */
class CutLink {
  readonly board = new Board("e");
  isCut = false;
  #streams: CutStream[] = [];

  async ask<T>(
    _doing: string,
    signal: AbortSignal,
    question: (channel: object, signal: AbortSignal) => Promise<T>,
  ) {
    if (this.isCut) throw new Error("nobody answers");
    const open = () => {
      const stream = new CutStream(this.board);
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
  readonly #board: Board;
  #seat: Seat | undefined;

  constructor(board: Board) {
    super();
    this.#board = board;
  }

  write({ join, steps }: SessionRequest): void {
    if (join !== undefined) this.#seat = this.#board.join(join, () => undefined);
    for (const step of steps) {
      if (step.type === "busy") this.#seat!.busy();
      if (step.type === "quiet") this.#seat!.quiet();
    }
    const reply: SessionReply = { epoch: join === undefined ? undefined : this.#board.epoch, granted: [] };
    setImmediate(() => this.emit("data", reply));
  }

  cut(): void {
    this.#seat?.end();
    this.emit("error", new Error("cut"));
  }

  end(): void {
    this.#seat?.end();
    this.emit("end");
  }

  cancel(): void {
    this.#seat?.end();
  }
}

test("a turn that nobody heard of is told when there is a connection again, though it is over", async () => {
  const link = new CutLink();
  const cluster = new RemoteCluster({
    link: link as unknown as Link,
    environment: systemEnvironment,
    attemptMs: 1_000,
    onFailure: () => undefined,
  });
  await cluster.join("s");
  await cluster.busy();
  cluster.quiet();
  await expect.poll(() => link.board.activity()).toMatchObject({ turns: 1, sessions: ["s"], busy: [] });
  link.cut();
  expect(link.board.activity().sessions).toEqual([]);
  await cluster.busy();
  cluster.quiet();
  link.isCut = false;
  // Whoever looked before and looks again knows that something ran.
  await expect
    .poll(() => link.board.activity(), { timeout: 30_000 })
    .toMatchObject({ turns: 2, sessions: ["s"], busy: [] });
  await cluster.leave();
});
