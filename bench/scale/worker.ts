import type { CoordinatorClient } from "./gatherer.js";
import type { ModelHint } from "./hint-table.js";
import { ModelRun } from "./model-run.js";
import { type Copy, registryCopy, safepointCopy } from "./registry-copy.js";
import { BucketScanner } from "./scanner.js";
import type { BucketAssignment } from "./shares.js";
import { Station } from "./station.js";
import type { World } from "./world.js";

/** A process with one worker: a processor, a queue for each observer, runs, and a scanner. */
export class ModelWorker {
  readonly processor: Station;
  readonly coordinator: CoordinatorClient;
  readonly registry: Copy;
  readonly safepoint: Copy;
  readonly scanner: BucketScanner;
  readonly #queues: Queue[];
  readonly #taken = new Set<ModelHint>();
  #running = 0;
  #turn = 0;

  constructor(
    readonly world: World,
    readonly number: number,
    readonly shares: BucketAssignment,
    connect: (number: number, processor: Station) => CoordinatorClient,
  ) {
    this.processor = new Station(`worker ${number}`);
    this.coordinator = connect(number, this.processor);
    this.registry = registryCopy(world, this.processor, this.coordinator);
    this.safepoint = safepointCopy(world, this.processor);
    this.scanner = new BucketScanner(this);
    this.#queues = Array.from({ length: world.settings.workload.observers }, () => new Queue());
  }

  /** Whether the queue of an observer has emptied enough to be filled again. */
  hasRoom(observer: number): boolean {
    return this.#queues[observer]!.size <= this.world.settings.design.queueLimit / 2;
  }

  /** How many more hints of an observer it would take on. */
  room(observer: number): number {
    return this.world.settings.design.queueLimit - this.#queues[observer]!.size;
  }

  has(hint: ModelHint): boolean {
    return this.#taken.has(hint);
  }

  /** Takes a hint on, to be run in its turn. */
  take(hint: ModelHint): void {
    this.#taken.add(hint);
    this.#queues[hint.observer]!.push(hint);
    this.#pump();
  }

  /** A hint of a run of its own that has committed: run here where it may be, else left to the scanners. */
  offerOwn(hint: ModelHint): void {
    const { design } = this.world.settings;
    if (this.room(hint.observer) <= 0) return;
    if (design.finding === "shares") {
      if (this.shares.owner(hint) === this.number) this.take(hint);
    } else if (design.finding === "nothing") this.take(hint);
    else {
      hint.claimant = this;
      this.world.counts.claims++;
      this.coordinator.claim(1, () => this.take(hint));
    }
  }

  /** The hint is gone, and with it what says that it is this worker's. */
  release(hint: ModelHint): void {
    this.#taken.delete(hint);
    if (hint.claimant !== this) return;
    this.coordinator.claim(1, () => {});
    hint.claimant = undefined;
  }

  #pump(): void {
    while (this.#running < this.world.settings.concurrency) {
      const hint = this.#next();
      if (hint === undefined) return;
      this.#running++;
      new ModelRun(this, hint, () => {
        this.#running--;
        this.#pump();
        if (this.hasRoom(hint.observer) && this.scanner.isUnfinished(hint.observer)) this.scanner.wake();
      });
    }
  }

  /** Of one observer after the other. */
  #next(): ModelHint | undefined {
    for (let tried = 0; tried < this.#queues.length; tried++) {
      const queue = this.#queues[this.#turn++ % this.#queues.length]!;
      if (queue.size > 0) return queue.shift();
    }
    return undefined;
  }
}

class Queue {
  #hints: ModelHint[] = [];
  #head = 0;

  get size(): number {
    return this.#hints.length - this.#head;
  }

  push(hint: ModelHint): void {
    this.#hints.push(hint);
  }

  shift(): ModelHint | undefined {
    const hint = this.#hints[this.#head++];
    if (this.#head > 1_024 && this.#head * 2 > this.#hints.length) {
      this.#hints = this.#hints.slice(this.#head);
      this.#head = 0;
    }
    return hint;
  }
}
