import { InternalError } from "../../errors/index.js";
import type { Observer } from "../../observer/index.js";
import { connect } from "./connect.js";
import type { ExploredClient, WaitingRequest } from "./explored-client.js";
import { heal } from "./healing.js";
import { arriveStep, possibleSteps } from "./possible.js";
import { ExploredProcess } from "./process.js";
import type { Program } from "./program.js";
import { settle } from "./settle.js";
import type { Step } from "./step.js";
import { ExploredWorld, type Failure, type Snapshot } from "./world.js";

/** Time to let pass where nothing but waiting is left, so that locks expire. In milliseconds. */
const patienceMs = 60_000;

/**
 * One execution of a program, from its beginning: every request of every client waits until it is said what becomes of it. The
 * same steps lead to the same state, always.
 */
export class Execution {
  readonly #world: ExploredWorld;

  private constructor(world: ExploredWorld) {
    this.#world = world;
  }

  /** Begins an execution: all clients run up to their first requests. With `trace`, each step is written down there. */
  static async begin(program: Program, snapshot: Snapshot, trace?: string[]): Promise<Execution> {
    const world = new ExploredWorld(program, snapshot, trace);
    for (const client of world.clients) {
      const handle = await connect(world, client);
      const run = program.clients[client.name]!;
      Promise.resolve()
        .then(() => run(handle))
        .then(
          (value) => world.ended(client, { outcome: "returned", value }),
          (error: unknown) => world.ended(client, { outcome: "failed", error }),
        );
    }
    await settle();
    return new Execution(world);
  }

  get failure(): Failure | undefined {
    return this.#world.failure;
  }

  /** Names the state: equal names, equal futures. */
  get state(): string {
    return this.#world.state;
  }

  /** Names what matters after all clients have ended. */
  get remains(): string {
    return this.#world.remains;
  }

  /** Whether all clients have ended, and nothing they began goes on. */
  get isOver(): boolean {
    return this.#world.clients.every((client) => client.isOver);
  }

  /** Everything that may happen next, always in the same order; what goes well comes first. */
  steps(): readonly Step[] {
    return possibleSteps(this.#world);
  }

  /** Lets one of {@link steps} happen, and all that follows by itself. */
  async perform(step: Step): Promise<void> {
    this.#world.time.step++;
    if (step.deed === "arrive") await this.#arrive(step);
    else {
      const client = this.#world.clients.find((each) => each.name === step.client)!;
      if (step.deed === "stop") this.#stop(client);
      else if (step.deed === "fire") this.#fire(client, step);
      else await this.#deal(client, step);
    }
    await settle();
  }

  async #arrive(step: Step): Promise<void> {
    const { late } = this.#world;
    const key = step.key.slice(0, -":arrive".length);
    const { client, waiting } = late.get(key)!;
    late.delete(key);
    const answer = await waiting.request.apply();
    this.#world.noteAnswer(`${client}, late`, waiting.request, answer);
  }

  #stop(client: ExploredClient): void {
    this.#world.use("stops");
    this.#world.stop(client);
  }

  #fire(client: ExploredClient, { number, isFault }: Step): void {
    const world = this.#world;
    if (isFault) world.use("timers");
    else {
      if (!world.isStill()) {
        client.earlyFires++;
        world.timePassed++;
      }
      client.changesAtFire = world.digest.changes;
    }
    client.heard(-number, undefined, "fired");
    world.note(client.name, () => (isFault ? "a timer of the background fires" : "has waited"));
    client.environment.fire(number);
  }

  async #deal(client: ExploredClient, { number, deed }: Step): Promise<void> {
    const waiting = client.waiting.get(number)!;
    client.waiting.delete(number);
    switch (deed) {
      case "apply":
        return this.#answer(client, waiting, "");
      case "repeat":
        this.#world.use("repeats");
        this.#world.postpone(client, waiting);
        return this.#answer(client, waiting, ", and a copy is under way");
      case "guess":
        return this.#guess(client, waiting);
      case "lose-answer":
        return this.#loseAnswer(client, waiting);
      case "delay":
        return this.#delay(client, waiting);
      default:
        throw new InternalError(`A request cannot be dealt with by "${deed}".`);
    }
  }

  async #answer(client: ExploredClient, waiting: WaitingRequest, more: string): Promise<void> {
    const { request } = waiting;
    let answer: unknown;
    try {
      answer = await request.apply();
    } catch (error) {
      client.heard(waiting.number, waiting.group, String(error));
      waiting.reject(error);
      return;
    }
    const { watcher } = this.#world;
    if (request.kind === "timestamp") watcher.timestamp(waiting.sentAfter, answer as number);
    this.#world.noteAnswer(client.name, request, answer, more);
    client.answer(waiting, answer);
  }

  #guess(client: ExploredClient, waiting: WaitingRequest): void {
    this.#world.use("wrongGuesses");
    const { name, answer } = waiting.request.otherAnswers![0]!;
    this.#world.note(client.name, () => `${waiting.request.describe()} -> ${name}`);
    client.answer(waiting, answer);
  }

  async #loseAnswer(client: ExploredClient, waiting: WaitingRequest): Promise<void> {
    this.#world.use("lostAnswers");
    const answer = await waiting.request.apply();
    this.#world.noteAnswer(client.name, waiting.request, answer, ", but no answer comes");
    client.lose(waiting);
  }

  #delay(client: ExploredClient, waiting: WaitingRequest): void {
    this.#world.use("lostAnswers");
    this.#world.postpone(client, waiting);
    this.#world.note(client.name, () => `${waiting.request.describe()} -> under way, and no answer comes`);
    client.lose(waiting);
  }

  /**
   * Heals everything and demands what must hold then: no lock, no hint, every acknowledgment in place; also after what was
   * late has arrived. The execution cannot be gone on with.
   */
  async finish(): Promise<void> {
    const { program, clients, late } = this.#world;
    try {
      program.ended?.(Object.fromEntries(clients.map(({ name, end }) => [name, end!])));
      await this.#heal();
      if (late.size === 0 || this.failure !== undefined) return;
      for (const each of late.values()) await this.#arrive(arriveStep(each));
      await this.#heal();
    } catch (error) {
      this.#world.fail(error instanceof Error ? (error.stack ?? error.message) : String(error));
    }
  }

  async #heal(): Promise<void> {
    const world = this.#world;
    const { program } = world;
    const healer = world.newClient("healer");
    healer.environment.passTime = true;
    const process = new ExploredProcess({
      name: "healer",
      store: world.store,
      oracle: world.oracleOf(healer),
      environment: healer.environment,
      commit: world.commitMode("healer"),
      observers: newestObservers(program),
      view: world.snapshot.view,
      alive: () => false,
      hasSessions: program.sessions,
    });
    world.note("healer", () => "heals, and works until nothing is due");
    await heal(process, () => {
      world.time.passed += patienceMs;
    });
    for (const violation of world.watcher.atRest()) world.violated(violation);
    if (world.failure === undefined) await program.healed?.(process.db, () => process.work());
  }
}

/** What clients register later takes the place of what has the same name. */
function newestObservers({ observers = [], laterObservers = [] }: Program): readonly Observer[] {
  return [...new Map([...observers, ...laterObservers].map((each) => [each.name, each])).values()];
}
