import { expect, test } from "vitest";
import { type Fate, TestMachine, TestWorld } from "../../../../test/support/oracle/world.js";
import { sleep } from "../../../environment/index.js";
import { type GatheredOracle, OracleLeader } from "../../../oracle/index.js";
import { electedOracle } from "./elected.js";

const seeds = Number(process.env.ORACLE_SEEDS ?? 5);
const fates: readonly Fate[] = [
  "answer-lost",
  "request-lost",
  "late",
  "behind-late",
  "silent",
  "twice",
  "fails",
];

interface Place {
  readonly machine: TestMachine;
  readonly name: string;
  leader: OracleLeader;
}

/**
 * Candidates that pause, stop and restart, on clocks that differ and jump. Their store loses,
 * delays and repeats requests. Clients ask all the time. The test checks what the protocol relies
 * on: each answer is greater than every answer given before the request.
 */
class Run {
  readonly world: TestWorld;
  readonly places: Place[];
  readonly clients: GatheredOracle[];
  /** The greatest timestamp that any client has received. */
  greatest = 0;
  answers = 0;
  refusals = 0;
  epochs = new Set<number>();

  constructor(seed: number) {
    this.world = new TestWorld(seed);
    this.places = ["a", "b", "c"].map((name, index) => {
      const machine = new TestMachine(this.world, {
        rate: 0.98 + 0.02 * index,
        offsetMs: (this.world.random() - 0.5) * 20_000,
      });
      machine.latency = () =>
        this.world.random() < 0.9 ? this.world.random() * 4 : this.world.random() * 300;
      return { machine, name, leader: this.start(machine, name) };
    });
    this.clients = [0, 1].map(() => this.client(new TestMachine(this.world)));
  }

  start(machine: TestMachine, name: string): OracleLeader {
    const leader = new OracleLeader({
      store: machine.store,
      environment: machine,
      name,
      leaseMs: 1_000,
      windowMs: 2,
      maximumDrift: 0.06,
      onChange: ({ role, epoch }) => role === "leading" && this.epochs.add(epoch),
    });
    leader.start();
    return leader;
  }

  /** Returns a client whose requests take time, and may be lost in either direction. */
  client(environment: TestMachine): GatheredOracle {
    const travel = () => sleep(environment, this.world.random() * 5);
    const ask = async <T>(place: Place, question: (leader: OracleLeader) => T | Promise<T>): Promise<T> => {
      await travel();
      if (place.machine.isSuspended || this.world.random() < 0.02)
        return await new Promise<never>(() => undefined);
      const answer = await question(place.leader);
      // A process may also pause after it has checked its lease.
      await travel();
      return answer;
    };
    return electedOracle({
      environment,
      candidateTimeoutMs: 200,
      candidates: this.places.map((place) => ({
        name: place.name,
        request: (count, signal) => ask(place, (leader) => leader.next(count, { signal })),
      })),
    });
  }

  async asking(client: GatheredOracle, isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      const before = this.greatest;
      try {
        const timestamp = await client.next();
        if (timestamp <= before) throw new RangeError(`${timestamp} was given after ${before}`);
        this.greatest = Math.max(this.greatest, timestamp);
        this.answers++;
      } catch (error) {
        if ((error as { readonly retryable?: boolean }).retryable !== true) throw error;
        this.refusals++;
      }
      await sleep(this.world.network, this.world.random() * 10);
    }
  }

  /** Disturbs one of the candidates, or its connection to the store. */
  async disturb(): Promise<void> {
    const { world } = this;
    const place = this.places[Math.floor(world.random() * this.places.length)]!;
    const { machine } = place;
    const draw = world.random();
    if (draw < 0.35) {
      const fate = fates[Math.floor(world.random() * fates.length)]!;
      const count = world.random() < 0.2 ? 40 : 1 + Math.floor(world.random() * 3);
      machine.fates.push(...Array.from({ length: count }, () => fate));
    } else if (draw < 0.5) {
      await machine.late.shift()?.();
    } else if (draw < 0.7) {
      machine.suspend();
      world.network.setTimer(() => machine.resume(), world.random() * 2_500);
    } else if (draw < 0.8) {
      machine.setClock((world.random() - 0.5) * 20_000);
    } else if (draw < 0.9) {
      machine.failingReads += Math.floor(world.random() * 5);
    } else {
      // The replaced candidate may end at once. Otherwise it continues for a while, although no
      // client asks it any more.
      if (world.random() < 0.5) await this.stopSoon(place.leader);
      else this.forgotten.push(place.leader);
      place.leader = this.start(machine, place.name);
    }
  }

  readonly forgotten: OracleLeader[] = [];

  async stopSoon(leader: OracleLeader): Promise<void> {
    leader.stop().catch(() => undefined);
    await this.world.settle();
  }

  async heal(): Promise<void> {
    for (const { machine } of this.places) {
      machine.fates = [];
      machine.failingReads = 0;
      machine.latency = () => 0;
      machine.resume();
    }
    for (const leader of this.forgotten) await this.stopSoon(leader);
  }
}

test(`answers increase in real time, under all faults: ${seeds} runs`, { timeout: 600_000 }, async () => {
  let changes = 0;
  for (let seed = 1; seed <= seeds; seed++) {
    const run = new Run(seed);
    let isOver = false;
    const asking = Promise.all(
      [0, 1, 2, 3].map((index) => run.asking(run.clients[index % 2]!, () => isOver)),
    ).then(
      () => undefined,
      (error: unknown) => new Error(`With seed ${seed}: ${String(error)}`, { cause: error }),
    );
    for (let step = 0; step < 40; step++) {
      await run.disturb();
      await run.world.advance(run.world.random() * 400);
    }
    await run.heal();
    const answers = run.answers;
    await run.world.advance(8_000);
    isOver = true;
    const failure = await run.world.until(asking);
    if (failure !== undefined) throw failure;
    expect(run.answers, `healed, with seed ${seed}`).toBeGreaterThan(answers + 100);
    changes += run.epochs.size;
    await run.world.until(Promise.all(run.places.map(({ leader }) => leader.stop())));
  }
  expect(changes).toBeGreaterThan(seeds);
});
