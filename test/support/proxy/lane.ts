import type { Socket } from "node:net";
import { Frames, type Protocol } from "./frames.js";

/** The direction: up to the server, or down to the client. */
export type Way = "up" | "down";

/** What the proxy does to everything in one direction. */
export interface Passage {
  readonly way: Way;
  delayMs: number;
  silent: boolean;
  /**
   * Called at the first frame of a call. Everything before the frame is forwarded, but not the
   * frame.
   */
  cutAtCall: (() => void) | undefined;
}

type Item =
  | { readonly type: "data"; readonly dueAt: number; readonly chunk: Buffer }
  | { readonly type: "end" | "reset"; readonly dueAt: number };

/** The most bytes to hold. If there are more, the sender must wait. */
const maxHeld = 16 << 20;

/**
 * One direction of one connection. It forwards what it receives, in order, when its passage allows.
 */
export class Lane {
  readonly #from: Socket;
  readonly #to: Socket;
  readonly #passage: Passage;
  readonly #frames: Frames;
  #held: Item[] = [];
  #heldBytes = 0;
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;
  /** Bytes forwarded. */
  bytes = 0;

  constructor(from: Socket, to: Socket, passage: Passage, protocol: Protocol) {
    this.#from = from;
    this.#to = to;
    this.#passage = passage;
    this.#frames = new Frames(protocol, passage.way === "up");
    from.on("data", (chunk: Buffer) => this.#receive(chunk));
    from.on("end", () => this.#hold({ type: "end", dueAt: this.#dueAt() }));
    from.on("error", () => undefined);
    from.on("close", (isBroken) => {
      if (isBroken) this.#hold({ type: "reset", dueAt: this.#dueAt() });
    });
    to.on("drain", () => from.resume());
  }

  /** Forwards what is due. The caller calls it after each change of the passage. */
  go(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    while (!this.#isOver && !this.#passage.silent && this.#held.length > 0) {
      const waitMs = this.#held[0]!.dueAt - performance.now();
      if (waitMs > 0) {
        this.#timer = setTimeout(() => this.go(), waitMs);
        return;
      }
      this.#pass(this.#held.shift()!);
    }
  }

  /** Drops what it holds, and forwards nothing more. */
  end(): void {
    this.#isOver = true;
    this.#held = [];
    clearTimeout(this.#timer);
  }

  #dueAt(): number {
    const { delayMs } = this.#passage;
    return delayMs === 0 ? 0 : performance.now() + delayMs;
  }

  #receive(chunk: Buffer): void {
    const call = this.#frames.take(chunk);
    const { cutAtCall } = this.#passage;
    if (call !== undefined && cutAtCall !== undefined) {
      this.#passage.cutAtCall = undefined;
      if (call > 0) this.#to.write(chunk.subarray(0, call));
      cutAtCall();
      return;
    }
    this.#hold({ type: "data", chunk, dueAt: this.#dueAt() });
  }

  #hold(item: Item): void {
    if (this.#isOver) return;
    this.#held.push(item);
    if (item.type === "data") {
      this.#heldBytes += item.chunk.length;
      if (this.#heldBytes > maxHeld) this.#from.pause();
    }
    this.go();
  }

  #pass(item: Item): void {
    if (item.type === "data") this.#passData(item.chunk);
    else if (item.type === "end") this.#to.end();
    else this.#to.destroy();
  }

  #passData(chunk: Buffer): void {
    this.#heldBytes -= chunk.length;
    this.bytes += chunk.length;
    if (!this.#to.destroyed && !this.#to.write(chunk)) this.#from.pause();
    else if (this.#heldBytes <= maxHeld) this.#from.resume();
  }
}
