import { InternalError, PercolatorError } from "../../errors/index.js";
import { parkedTable, type RegistryView } from "../../observer/index.js";
import type { Oracle } from "../../oracle/index.js";
import { definition } from "../../schema/index.js";
import type { RowStore } from "../../store/index.js";
import { copyMemoryStore } from "../../store/memory/index.js";
import { addressKey, hintTable, type ReadInfo, safepointCell, systemTable } from "../../transaction/index.js";
import { ProtocolWatcher, type Violation } from "../invariants/index.js";
import {
  counterPlace,
  DistantStore,
  namedPlace,
  overlap,
  type Place,
  type Request,
  rowPlace,
  timestampRequest,
  WatchedStore,
} from "../world/index.js";
import type { ClientHandle, WorkTurns } from "./client-handle.js";
import { ExploredClient, type WaitingRequest } from "./explored-client.js";
import { heal } from "./healing.js";
import { hintsStand } from "./hints-stand.js";
import { ExploredProcess } from "./process.js";
import type { ClientEnd, CommitMode, FaultBudget, Program } from "./program.js";
import { settle } from "./settle.js";
import type { Deed, Step } from "./step.js";
import { StoreDigest } from "./store-digest.js";

/** What went wrong in an execution, in words. */
export interface Failure {
  readonly message: string;
}

/** A request that nobody waits for any more, and that may arrive. */
interface Late {
  readonly key: string;
  readonly client: string;
  readonly waiting: WaitingRequest;
}

type Fault = keyof Required<FaultBudget>;

const safepointPlace = rowPlace(safepointCell.table, safepointCell.row);
/** How often a wait of one client may be over before nothing else can happen. */
const mostEarlyFires = 1;
/** Time to let pass where nothing but waiting is left, so that locks expire. In milliseconds. */
const patienceMs = 60_000;
/** What may be thrown at a client without anything being wrong. */
const expected: ReadonlySet<string> = new Set([
  "CONFLICT",
  "COMMIT_OUTCOME_UNKNOWN",
  "STALE_SNAPSHOT",
  "STORE",
  "TIMEOUT",
  "ABORTED",
  "NOT_LEADER",
  "ORACLE_UNAVAILABLE",
]);

/**
 * One execution of a program, from its beginning: every request of every client waits until it is said what becomes of it. The
 * same steps lead to the same state, always.
 */
export class Execution {
  readonly #program: Program;
  readonly #snapshot: Snapshot;
  readonly #store: WatchedStore;
  readonly #watcher: ProtocolWatcher;
  readonly #digest: StoreDigest;
  readonly #time = { passed: 0 };
  readonly #shared = new Map<string, unknown>();
  readonly #clients: readonly ExploredClient[];
  readonly #late = new Map<string, Late>();
  readonly #used: Record<Fault, number> = {
    lostAnswers: 0,
    repeats: 0,
    stops: 0,
    wrongGuesses: 0,
    timers: 0,
  };
  readonly #trace: string[] | undefined;
  /** How often time has passed while something else could happen. */
  #timePassed = 0;
  #timestamp: number;
  #failure: Failure | undefined;

  private constructor(program: Program, snapshot: Snapshot, trace: string[] | undefined) {
    this.#program = program;
    this.#snapshot = snapshot;
    this.#trace = trace;
    this.#timestamp = snapshot.timestamp;
    const bare = copyMemoryStore(snapshot.store);
    this.#store = new WatchedStore(bare);
    this.#digest = new StoreDigest(bare);
    const onViolation = (violation: Violation) => this.#violated(violation);
    this.#watcher = new ProtocolWatcher({ store: bare, onViolation });
    this.#watcher.adopt(tablesOf(program));
    this.#store.watch(this.#watcher);
    this.#store.watch(this.#digest);
    if (this.#store.atomic === undefined) this.#store.watch({ applied: (rows) => this.#expire(rows) });
    this.#clients = Object.keys(program.clients).map(
      (name) => new ExploredClient(name, this.#time, () => this.#watcher.newestTimestamp),
    );
  }

  /** Begins an execution: all clients run up to their first requests. With `trace`, each step is written down there. */
  static async begin(program: Program, snapshot: Snapshot, trace?: string[]): Promise<Execution> {
    const execution = new Execution(program, snapshot, trace);
    await execution.#start();
    return execution;
  }

  get failure(): Failure | undefined {
    return this.#failure;
  }

  /** Names the state: the store, and what each client has been answered. Equal names, equal futures. */
  get state(): string {
    const clients = this.#clients.map((client) => client.knowledge).join("/");
    const late = [...this.#late.keys()].sort().join(",");
    const used = Object.values(this.#used).join("");
    return `${this.#digest}/${this.#counter()}/${clients}/${late}/${used}/${this.#time.passed}/${this.#timePassed}`;
  }

  /** Names what matters after all clients have ended. */
  get remains(): string {
    return `${this.#digest}/${this.#counter()}/${[...this.#late.keys()].sort().join(",")}`;
  }

  #counter(): number {
    return this.#store.atomic === undefined ? this.#timestamp : (this.#store.atomic.counter() as number);
  }

  async #start(): Promise<void> {
    for (const client of this.#clients) {
      const handle = await this.#handle(client);
      client.isDirect = false;
      const run = this.#program.clients[client.name]!;
      Promise.resolve()
        .then(() => run(handle))
        .then(
          (value) => this.#ended(client, { outcome: "returned", value }),
          (error: unknown) => this.#ended(client, { outcome: "failed", error }),
        );
    }
    await settle();
  }

  #ended(client: ExploredClient, end: ClientEnd): void {
    if (client.end !== undefined) return;
    client.end = end;
    if (end.outcome !== "failed") return;
    const { error } = end;
    if (error instanceof PercolatorError && expected.has(error.code)) return;
    const shown = error instanceof Error ? (error.stack ?? error.message) : String(error);
    this.#fail(`Client ${client.name} failed: ${shown}`);
  }

  async #handle(client: ExploredClient): Promise<ClientHandle> {
    const { name, environment } = client;
    const store = new DistantStore({
      store: this.#store,
      network: client,
      isImmediate: (places, changes) => this.#isImmediate(client, places, changes),
    });
    const oracle = this.#oracleOf(client);
    const process = new ExploredProcess({
      name,
      store,
      oracle,
      environment,
      commit: this.#commitMode(client),
      observers: this.#program.observers ?? [],
      view: this.#snapshot.view,
      alive: (session) => this.#ask(client, session),
      read: (info) => this.#read(client, info),
    });
    await process.learn(this.#program.tables ?? []);
    if (this.#commitMode(client) === "two-phase") {
      process.context.events.on("commit", ({ phases, startTimestamp, commitTimestamp }) => {
        if (phases === 2) this.#watcher.told(startTimestamp, "committed", commitTimestamp);
      });
      process.context.events.on("conflict", (event) => this.#watcher.told(event.startTimestamp, "conflict"));
    }
    const looksAtHints = async ({ looks = 1, observers }: WorkTurns = {}) => {
      let ran = 0;
      for (let look = 0; look < looks && (await this.#untilHints(client)); look++)
        ran += await process.work(observers);
      return ran;
    };
    return {
      name,
      db: process.db,
      store,
      oracle,
      environment,
      network: client,
      shared: this.#shared,
      work: looksAtHints,
      register: (observers) => process.registry.register([], observers),
    };
  }

  #read(client: ExploredClient, { startTimestamp, cell, commit, value }: ReadInfo): void {
    client.read(`${startTimestamp} ${addressKey(cell)} ${commit}`);
    this.#watcher.read({ start: startTimestamp, ...cell, commit, value });
  }

  #commitMode(client: ExploredClient): CommitMode {
    const { commit } = this.#program;
    const mode = typeof commit === "object" ? commit[client.name] : commit;
    return mode ?? (this.#store.atomic === undefined ? "two-phase" : "one-phase");
  }

  /** Whether nothing can come between this request and others. */
  #isImmediate(client: ExploredClient, places: readonly Place[], changes: boolean): boolean {
    const { systemRequests = "none" } = this.#program;
    if (changes) return false;
    // A transaction of two phases looks at the counter only to be spared by collection.
    if (places[0] === counterPlace)
      return systemRequests === "none" && this.#commitMode(client) === "two-phase";
    if (places.some((place) => place.table !== systemTable)) return false;
    if (systemRequests === "safepoint") return !places.some((place) => overlap(place, safepointPlace));
    return systemRequests === "none";
  }

  #oracleOf(client: ExploredClient): Oracle {
    const { atomic } = this.#store;
    const next = () => (atomic === undefined ? ++this.#timestamp : atomic.next());
    return {
      next: () => client.send(timestampRequest("next timestamp", true, next)),
      latest: () => {
        if (client.isDirect || (this.#program.systemRequests ?? "none") === "none") return this.#counter();
        return client.send(timestampRequest("latest timestamp", false, () => this.#counter()));
      },
    };
  }

  #ask(client: ExploredClient, session: string): boolean | Promise<boolean> {
    const other = this.#clients.find((each) => each.name === session);
    if (other === undefined || client.isDirect) return false;
    // Where nobody can stop or guess wrongly, nothing can come between.
    if (!this.#may("stops") && !this.#may("wrongGuesses")) return !other.isStopped;
    return client.send<boolean>({
      kind: "question",
      places: [namedPlace(`life of ${session}`)],
      changes: false,
      repeatable: false,
      describe: () => `does ${session} live?`,
      apply: () => !other.isStopped,
      lost: () => true,
      show: (lives) => (lives ? "yes" : "no"),
      digest: String,
      otherAnswers: [{ name: "no, wrongly", answer: false }],
    });
  }

  /** Resolves when hints stand (true), or nobody else can do anything (false). */
  #untilHints(client: ExploredClient): Promise<boolean> {
    const stand = () => hintsStand(this.#store, this.#program.observers ?? []);
    return client.send<boolean>({
      kind: "wait",
      places: [{ table: hintTable, from: "", to: undefined }],
      changes: false,
      repeatable: false,
      describe: () => "wait for hints",
      apply: stand,
      lost: () => false,
      show: (found) => (found ? "some stand" : "there are none"),
      digest: String,
      ready: stand,
    });
  }

  #violated({ invariant, name, where, message }: Violation): void {
    this.#fail(`Invariant ${invariant} (${name}) is broken at ${where}: ${message}`);
  }

  #fail(message: string): void {
    this.#failure ??= { message };
  }

  /** Without atomic batches, what nobody waits for any more when the safepoint moves never arrives (PROTOCOL section 7). */
  #expire(rows: readonly { readonly table: string; readonly row: Uint8Array }[]): void {
    const { table, row } = safepointCell;
    if (rows.some((each) => each.table === table && Buffer.compare(each.row, row) === 0)) this.#late.clear();
  }

  /** Everything that may happen next, always in the same order; what goes well comes first. */
  steps(): readonly Step[] {
    const running = this.#clients.filter((client) => !client.isOver);
    const steps: Step[] = [];
    for (const client of running) {
      for (const waiting of client.waiting.values()) {
        if (waiting.request.ready?.() ?? true) steps.push(requestStep(client, waiting, "apply"));
      }
    }
    steps.push(...this.#timerSteps(steps.length === 0));
    if (steps.length === 0) {
      for (const client of running)
        for (const waiting of client.waiting.values()) steps.push(requestStep(client, waiting, "apply"));
    }
    for (const { key, client, waiting } of this.#late.values()) {
      steps.push(arriveStep(key, client, waiting));
    }
    steps.push(...this.#faultSteps());
    return steps;
  }

  /**
   * A timer fires where nothing else can happen; and once for each client at any moment after the store has changed, so that a wait
   * may also be over early. Without that bound two who try again for ever would get in each other's way for ever.
   */
  #timerSteps(isStill: boolean): readonly Step[] {
    const timers = this.#clients.flatMap((client) => {
      if (client.isStopped) return [];
      const waiting = [...client.environment.timers.values()].filter((timer) => !timer.isBackground);
      const next = waiting.sort((a, b) => a.due - b.due || a.number - b.number)[0];
      return next === undefined ? [] : [{ client, timer: next }];
    });
    if (timers.length === 0) return [];
    const { timePasses } = this.#program;
    const first = Math.min(...timers.map(({ timer }) => timer.due));
    return timers
      .filter(({ client, timer }) => {
        if (isStill) return timer.due === first;
        if (timePasses !== undefined) return timer.due === first && this.#timePassed < timePasses;
        return client.earlyFires < mostEarlyFires && client.changesAtFire !== this.#digest.changes;
      })
      .map(({ client, timer }) => timerStep(client, timer.number, "fire", false));
  }

  /** Whether nobody waits for an answer that could be given. */
  #isStill(): boolean {
    return !this.#clients.some((client) =>
      [...client.waiting.values()].some(({ request }) => request.ready?.() ?? true),
    );
  }

  #faultSteps(): readonly Step[] {
    const steps: Step[] = [];
    for (const client of this.#clients) {
      if (client.isStopped) continue;
      for (const waiting of client.waiting.values()) {
        const { request } = waiting;
        if (this.#may("lostAnswers") && (request.repeatable || request.kind === "timestamp"))
          steps.push(requestStep(client, waiting, "lose-answer"));
        if (!request.repeatable) {
          if (request.otherAnswers !== undefined && this.#may("wrongGuesses"))
            steps.push(requestStep(client, waiting, "guess"));
          continue;
        }
        if (this.#may("lostAnswers")) steps.push(requestStep(client, waiting, "delay"));
        if (this.#may("repeats")) steps.push(requestStep(client, waiting, "repeat"));
      }
      if (this.#may("timers")) {
        for (const timer of client.environment.timers.values())
          if (timer.isBackground && client.end === undefined)
            steps.push(timerStep(client, timer.number, "fire", true));
      }
      if (this.#may("stops") && client.waiting.size > 0) steps.push(stopStep(client));
    }
    return steps;
  }

  #may(fault: Fault): boolean {
    return this.#used[fault] < (this.#program.faults?.[fault] ?? 0);
  }

  /** Whether all clients have ended, and nothing they began goes on. */
  get isOver(): boolean {
    return this.#clients.every((client) => client.isOver);
  }

  /** Lets one of {@link steps} happen, and all that follows by itself. */
  async perform(step: Step): Promise<void> {
    if (step.deed === "arrive") await this.#arrive(step);
    else {
      const client = this.#clients.find((each) => each.name === step.client)!;
      if (step.deed === "stop") this.#stop(client);
      else if (step.deed === "fire") this.#fire(client, step);
      else await this.#deal(client, step);
    }
    await settle();
  }

  async #arrive(step: Step): Promise<void> {
    const key = step.key.slice(0, -":arrive".length);
    const late = this.#late.get(key)!;
    this.#late.delete(key);
    const { request } = late.waiting;
    const answer = await request.apply();
    this.#noteAnswer(`${late.client}, late`, request, answer);
  }

  #stop(client: ExploredClient): void {
    this.#used.stops++;
    for (const waiting of client.stop()) if (waiting.request.repeatable) this.#postpone(client, waiting);
    this.#note(client.name, "stops for good");
  }

  #fire(client: ExploredClient, { number, isFault }: Step): void {
    if (isFault) this.#used.timers++;
    else {
      if (!this.#isStill()) {
        client.earlyFires++;
        this.#timePassed++;
      }
      client.changesAtFire = this.#digest.changes;
    }
    client.heard(-number, "fired");
    this.#note(client.name, isFault ? "a timer of the background fires" : "has waited");
    client.environment.fire(number);
  }

  async #deal(client: ExploredClient, { number, deed }: Step): Promise<void> {
    const waiting = client.waiting.get(number)!;
    const { request } = waiting;
    client.waiting.delete(number);
    const tell = (answer: unknown) => {
      client.heard(number, request.digest(answer));
      waiting.resolve(answer);
    };
    switch (deed) {
      case "apply":
      case "repeat": {
        let answer: unknown;
        try {
          answer = await request.apply();
        } catch (error) {
          client.heard(number, String(error));
          waiting.reject(error);
          return;
        }
        if (request.kind === "timestamp") this.#watcher.timestamp(waiting.sentAfter, answer as number);
        if (deed === "repeat") {
          this.#used.repeats++;
          this.#postpone(client, waiting);
        }
        const copied = deed === "repeat" ? ", and a copy is under way" : "";
        this.#noteAnswer(client.name, request, answer, copied);
        tell(answer);
        return;
      }
      case "guess": {
        this.#used.wrongGuesses++;
        const { name, answer } = request.otherAnswers![0]!;
        this.#note(client.name, `${request.describe()} -> ${name}`);
        tell(answer);
        return;
      }
      case "lose-answer": {
        this.#used.lostAnswers++;
        const answer = await request.apply();
        this.#noteAnswer(client.name, request, answer, ", but no answer comes");
        this.#lose(client, waiting);
        return;
      }
      case "delay":
        this.#used.lostAnswers++;
        this.#postpone(client, waiting);
        if (this.#trace !== undefined)
          this.#note(client.name, `${request.describe()} -> under way, and no answer comes`);
        this.#lose(client, waiting);
        return;
      default:
        throw new InternalError(`A request cannot be dealt with by "${deed}".`);
    }
  }

  #lose(client: ExploredClient, waiting: WaitingRequest): void {
    client.heard(waiting.number, "lost");
    try {
      waiting.resolve(waiting.request.lost());
    } catch (error) {
      waiting.reject(error);
    }
  }

  #postpone(client: ExploredClient, waiting: WaitingRequest): void {
    const key = `${client.name}:${waiting.number}`;
    this.#late.set(key, { key, client: client.name, waiting });
  }

  #note(client: string, what: string): void {
    this.#trace?.push(`${client}: ${what}`);
  }

  /** Requests are only put into words where somebody reads them. */
  #noteAnswer(client: string, request: Request, answer: unknown, more = ""): void {
    if (this.#trace !== undefined)
      this.#note(client, `${request.describe()} -> ${request.show(answer)}${more}`);
  }

  /**
   * Heals everything and demands what must hold then: no lock, no hint, every acknowledgment in place; also after what was
   * late has arrived. The execution cannot be gone on with.
   */
  async finish(): Promise<void> {
    try {
      this.#program.ended?.(Object.fromEntries(this.#clients.map(({ name, end }) => [name, end!])));
      await this.#heal();
      if (this.#late.size > 0 && this.#failure === undefined) {
        for (const { key, client, waiting } of this.#late.values()) {
          await this.#arrive(arriveStep(key, client, waiting));
        }
        await this.#heal();
      }
    } catch (error) {
      this.#fail(error instanceof Error ? (error.stack ?? error.message) : String(error));
    }
  }

  async #heal(): Promise<void> {
    const healer = new ExploredClient("healer", this.#time, () => this.#watcher.newestTimestamp);
    healer.environment.passTime = true;
    const process = new ExploredProcess({
      name: "healer",
      store: this.#store,
      oracle: this.#oracleOf(healer),
      environment: healer.environment,
      commit: this.#commitMode(healer),
      observers: [...(this.#program.observers ?? []), ...(this.#program.laterObservers ?? [])],
      view: this.#snapshot.view,
      alive: () => false,
    });
    this.#note("healer", "heals, and works until nothing is due");
    await heal(process, () => {
      this.#time.passed += patienceMs;
    });
    for (const violation of this.#watcher.atRest()) this.#violated(violation);
    if (this.#failure === undefined) await this.#program.healed?.(process.db, () => process.work());
  }
}

function tablesOf(program: Program): readonly string[] {
  const tables = (program.tables ?? []).map((table) => table[definition].name);
  return [systemTable, hintTable, parkedTable, ...tables];
}

/** What an execution begins from. */
export interface Snapshot {
  readonly store: RowStore;
  /** The last timestamp of an oracle that is not the store's. */
  readonly timestamp: number;
  readonly view: RegistryView;
}

function requestStep(client: ExploredClient, { number, request }: WaitingRequest, deed: Deed): Step {
  return {
    key: `${client.name}:${number}:${deed}`,
    client: client.name,
    number,
    deed,
    places: request.places,
    changes: request.changes,
    isFault: deed !== "apply",
    isOrdered: request.kind === "wait",
  };
}

/** Late requests are nobody's: each stands for itself. */
function arriveStep(late: string, client: string, { number, request }: WaitingRequest): Step {
  const { places, changes } = request;
  const deed = "arrive";
  const who = `${client}, late ${number}`;
  return {
    key: `${late}:arrive`,
    client: who,
    number,
    deed,
    places,
    changes,
    isFault: false,
    isOrdered: false,
  };
}

function timerStep(client: ExploredClient, number: number, deed: Deed, isFault: boolean): Step {
  const key = `${client.name}:timer ${number}:${deed}`;
  return { key, client: client.name, number, deed, places: [], changes: true, isFault, isOrdered: true };
}

function stopStep({ name }: ExploredClient): Step {
  const places = [namedPlace(`life of ${name}`)];
  const changes = true;
  return {
    key: `${name}:stop`,
    client: name,
    number: 0,
    deed: "stop",
    places,
    changes,
    isFault: true,
    isOrdered: false,
  };
}
