import { InternalError } from "../../errors/index.js";
import type { Observer } from "../../observer/index.js";
import { connect } from "./connect.js";
import type { ExploredClient, WaitingRequest } from "./explored-client.js";
import { heal } from "./healing.js";
import { arriveStep, possibleSteps } from "./possible.js";
import { ExploredProcess } from "./process.js";
import type { Program } from "./program.js";
import { neverSettles, settle, settledByItself } from "./settle.js";
import type { Step } from "./step.js";
import { ExploredWorld, type Failure, type Snapshot } from "./world.js";

/**
 * Milliseconds that pass in each wait while an execution is healed. It is long enough for locks to
 * expire.
 */
const patienceMs = 60_000;

/**
 * One execution of a program, from its beginning. Every request of every client waits until the
 * explorer decides its fate. The same steps always lead to the same state.
 */
export class Execution {
  readonly #world: ExploredWorld;

  private constructor(world: ExploredWorld) {
    this.#world = world;
  }

  /**
   * Begins an execution: runs all clients up to their first requests. If `trace` is given, the
   * execution appends each step to it.
   */
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

  /** Identifies the state. Executions with equal states have equal futures. */
  get state(): string {
    return this.#world.state;
  }

  /** Identifies the part of the state that still matters after all clients have ended. */
  get remains(): string {
    return this.#world.remains;
  }

  /** Whether all clients have ended, and nothing that they began continues. */
  get isOver(): boolean {
    return this.#world.clients.every((client) => client.isOver);
  }

  /** Says which clients never settle, if no step is possible and not all have ended. */
  get stuck(): string | undefined {
    const { clients, program } = this.#world;
    const left = clients.filter((client) => !client.isOver).map(({ name }) => name);
    if (left.length === 0 || this.steps().length > 0) return undefined;
    return neverSettles(`Each client that has not ended (${left.join(", ")})`, program.name);
  }

  /**
   * Returns every possible next step, always in the same order. Steps without a fault come first.
   */
  steps(): readonly Step[] {
    return possibleSteps(this.#world);
  }

  /** Performs one of the {@link steps} and everything that follows from it. */
  async perform(step: Step): Promise<void> {
    this.#world.time.step++;
    if (step.action === "arrive") await this.#arrive(step);
    else {
      const client = this.#world.clients.find((each) => each.name === step.client)!;
      if (step.action === "stop") this.#stop(client);
      else if (step.action === "fire") this.#fire(client, step);
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
    client.received(-number, undefined, "fired");
    world.note(client.name, () => (isFault ? "a timer of the background fires" : "has waited"));
    client.environment.fire(number);
  }

  async #deal(client: ExploredClient, { number, action }: Step): Promise<void> {
    const waiting = client.waiting.get(number)!;
    client.waiting.delete(number);
    switch (action) {
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
        throw new InternalError(`The exploration cannot apply "${action}" to a request.`);
    }
  }

  async #answer(client: ExploredClient, waiting: WaitingRequest, more: string): Promise<void> {
    const { request } = waiting;
    let answer: unknown;
    try {
      answer = await request.apply();
    } catch (error) {
      client.received(waiting.number, waiting.group, String(error));
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
   * Resolves all locks and runs all due observers. Then checks that no lock and no hint is left and
   * that every acknowledgment exists. If requests are late, lets them arrive and does all of this
   * again. The execution cannot continue afterwards.
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
    const healing = heal(process, () => {
      world.time.passed += patienceMs;
    });
    await settledByItself("A run of an observer", program.name, healing);
    for (const violation of world.watcher.atRest()) world.violated(violation);
    if (world.failure !== undefined || program.healed === undefined) return;
    const checking = program.healed(process.db, () => process.work(), world.shared);
    await settledByItself("`healed`", program.name, checking);
  }
}

/** An observer that clients register later replaces the one with the same name. */
function newestObservers({ observers = [], laterObservers = [] }: Program): readonly Observer[] {
  return [...new Map([...observers, ...laterObservers].map((each) => [each.name, each])).values()];
}
