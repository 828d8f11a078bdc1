import { buckets } from "./hint-table.js";
import type { ModelWorker } from "./worker.js";
import type { World } from "./world.js";

const beat = 1_000;
const timeToLive = 5_000;

/** Sessions of workers: each puts its record every second and reads those of all, or tells the coordinator that it lives. */
export class SessionTable {
  /** When each worker's record expires; 0 where none stands. */
  readonly #expires: Float64Array;
  /** When each worker last read all. */
  readonly #readAt: Float64Array;
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
    this.#expires = new Float64Array(world.settings.workers).fill(timeToLive);
    this.#readAt = new Float64Array(world.settings.workers).fill(-Infinity);
  }

  start(worker: ModelWorker): void {
    const { design } = this.#world.settings;
    const run = design.refreshForEach === undefined ? () => this.#tell(worker) : () => this.#put(worker);
    this.#world.loop.at(this.#world.random.next() * beat, run);
  }

  #tell(worker: ModelWorker): void {
    const { costs, loop } = this.#world;
    this.#world.message(worker.processor, costs.coordinator.message, () => {
      loop.after(beat, () => this.#tell(worker));
    });
  }

  #put(worker: ModelWorker): void {
    const { client, tablet } = this.#world.costs;
    const expires = this.#world.loop.now + timeToLive;
    const { processor } = worker;
    this.#world.request(processor, client.bulk, this.#world.systemServer, tablet.write, "write", () => {
      this.#expires[worker.number] = expires;
      if (this.#isTimeToRead(worker)) this.#readAll(worker);
      else this.#readCrashSuspects(worker);
    });
  }

  #isTimeToRead(worker: ModelWorker): boolean {
    const { design, workers } = this.#world.settings;
    const every = Math.max(beat, workers * (design.refreshForEach ?? 0));
    return this.#world.loop.now - this.#readAt[worker.number]! >= every - beat / 2;
  }

  #readAll(worker: ModelWorker): void {
    this.#readAt[worker.number] = this.#world.loop.now;
    const { costs, counts, loop, settings, systemServer } = this.#world;
    const { client, tablet } = costs;
    const count = settings.workers;
    const service = tablet.read + count * tablet.scannedRow;
    this.#world.request(worker.processor, client.pointRead, systemServer, service, "read", () => {
      counts.sessionRowsRead += count;
      // The records are decoded, and the buckets of every observer divided anew among all sessions.
      const weights = buckets * settings.workload.observers * count;
      worker.processor.serve(loop.now, count * client.sessionRecord + weights * client.weight);
      this.#clearAway(worker, this.#expired(worker), () => this.#readCrashSuspects(worker));
    });
  }

  #expired(worker: ModelWorker): number[] {
    const expired: number[] = [];
    const { now } = this.#world.loop;
    for (const [number, expires] of this.#expires.entries()) {
      if (expires > 0 && expires <= now && number !== worker.number) expired.push(number);
    }
    return expired;
  }

  /** One after the other: a timestamp, a suspicion for each observer, and the record is removed. */
  #clearAway(worker: ModelWorker, expired: number[], done: () => void): void {
    const number = expired.pop();
    if (number === undefined) {
      done();
      return;
    }
    const { counts, costs, settings, systemServer } = this.#world;
    if (this.#expires[number]! > 0) counts.sessionsTakenForDead++;
    const { client, tablet } = costs;
    let missing = settings.workload.observers + 1;
    const next = () => {
      if (missing-- > 0) {
        const cost = client.conditionalMutation;
        const service = tablet.conditionalMutation;
        this.#world.request(worker.processor, cost, systemServer, service, "write", next);
        return;
      }
      if (this.#expires[number]! <= this.#world.loop.now) this.#expires[number] = 0;
      this.#clearAway(worker, expired, done);
    };
    worker.coordinator.next(next);
  }

  #readCrashSuspects(worker: ModelWorker): void {
    const { costs, loop, settings, systemServer } = this.#world;
    const { client, tablet } = costs;
    const { observers } = settings.workload;
    const cost = client.pointRead + observers * client.rowOfSet;
    const service = tablet.read + observers * tablet.scannedRow;
    this.#world.request(worker.processor, cost, systemServer, service, "read", () => {
      loop.after(beat, () => this.#put(worker));
    });
  }
}
