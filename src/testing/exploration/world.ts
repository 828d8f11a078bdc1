import { PercolatorError } from "../../errors/index.js";
import type { RegistryView } from "../../observer/index.js";
import type { Oracle } from "../../oracle/index.js";
import { definition } from "../../schema/index.js";
import type { RowStore } from "../../store/index.js";
import { copyMemoryStore } from "../../store/memory/index.js";
import { safepointCell } from "../../transaction/index.js";
import { ownTables, ProtocolWatcher, type Violation } from "../invariants/index.js";
import { hashText, type Request, timestampRequest, WatchedStore } from "../world/index.js";
import { ExploredClient, type WaitingRequest } from "./explored-client.js";
import type { ClientEnd, CommitMode, FaultBudget, Program } from "./program.js";
import { showData } from "./show-data.js";
import { StoreDigest } from "./store-digest.js";

/** The state from which executions begin. */
export interface Snapshot {
  readonly store: RowStore;
  /** The last timestamp of a separate oracle, if the store does not assign timestamps. */
  readonly timestamp: number;
  readonly view: RegistryView;
}

/** What failed in an execution, as text. */
export interface Failure {
  readonly message: string;
}

/** A request that may still arrive, although no client waits for it. */
export interface LateRequest {
  readonly key: string;
  readonly client: string;
  readonly waiting: WaitingRequest;
  /**
   * Identifies the request's contents. After its client has stopped, only this digest identifies
   * the request.
   */
  readonly digest: string;
}

export type Fault = keyof Required<FaultBudget>;

/** Error codes that a client may receive although nothing is wrong. */
const expected: ReadonlySet<string> = new Set([
  "CONFLICT",
  "COMMIT_OUTCOME_UNKNOWN",
  "STALE_SNAPSHOT",
  "STORE",
  "TIMEOUT",
  "ABORTED",
  "LOAD",
  "NOT_LEADER",
  "ORACLE_UNAVAILABLE",
]);

/**
 * What the clients of one execution share: the store, the time, the requests in progress, and the
 * watchers.
 */
export class ExploredWorld {
  readonly program: Program;
  readonly snapshot: Snapshot;
  readonly store: WatchedStore;
  readonly watcher: ProtocolWatcher;
  readonly digest: StoreDigest;
  readonly clients: readonly ExploredClient[];
  readonly late = new Map<string, LateRequest>();
  readonly shared = new Map<string, unknown>();
  readonly time = { passed: 0, step: 0 };
  /** How many times time has passed while another step was possible. */
  timePassed = 0;
  readonly #used: Record<Fault, number> = {
    lostAnswers: 0,
    repeats: 0,
    stops: 0,
    wrongGuesses: 0,
    timers: 0,
  };
  readonly #trace: string[] | undefined;
  #timestamp: number;
  #failure: Failure | undefined;

  constructor(program: Program, snapshot: Snapshot, trace: string[] | undefined) {
    this.program = program;
    this.snapshot = snapshot;
    this.#trace = trace;
    this.#timestamp = snapshot.timestamp;
    const bare = copyMemoryStore(snapshot.store);
    this.store = new WatchedStore(bare);
    this.digest = new StoreDigest(bare);
    this.watcher = new ProtocolWatcher({
      store: bare,
      onViolation: (violation) => this.violated(violation),
      now: () => this.time.passed,
    });
    this.watcher.adopt(tablesOf(program));
    this.store.watch(this.watcher);
    this.store.watch(this.digest);
    if (this.store.atomic === undefined) this.store.watch({ applied: (rows) => this.#expire(rows) });
    this.clients = Object.keys(program.clients).map((name) => this.newClient(name));
  }

  newClient(name: string): ExploredClient {
    const newest = () => this.watcher.newestTimestamp;
    return new ExploredClient(name, this.time, newest, (process) => this.#isRunning(process));
  }

  /**
   * Returns false if processes exchange heartbeats and the process has stopped. Otherwise returns
   * undefined, because other processes cannot tell whether it still runs.
   */
  #isRunning(process: string): boolean | undefined {
    if (this.program.sessions !== true) return undefined;
    return this.clients.find(({ name }) => name === process)?.isStopped === true ? false : undefined;
  }

  /** Stops a client for good. Requests that it had sent may still arrive. */
  stop(client: ExploredClient): void {
    for (const waiting of client.stop()) if (waiting.request.mayBeLate) this.postpone(client, waiting);
    this.note(client.name, () => "stops for good");
  }

  get failure(): Failure | undefined {
    return this.#failure;
  }

  /**
   * Identifies the state: what {@link remains} identifies, the answers that each client has
   * received, the faults used so far, and the time. Equal states have equal futures.
   */
  get state(): string {
    const clients = this.clients.map((client) => client.knowledge).join("/");
    const used = Object.values(this.#used).join("");
    return `${this.remains}/${clients}/${used}/${this.time.passed}/${this.timePassed}`;
  }

  /**
   * Identifies the part of the state that still matters after all clients have ended: the store,
   * the last timestamp, the late requests, and what the clients recorded.
   */
  get remains(): string {
    const late = [...this.late.values()].map(({ digest }) => digest).sort();
    const shared = this.shared.size === 0 ? "" : showData(this.shared);
    return `${this.digest}/${this.counter()}/${late.join(",")}/${shared}`;
  }

  /** The last timestamp that the oracle has issued. */
  counter(): number {
    return this.store.atomic === undefined ? this.#timestamp : (this.store.atomic.counter() as number);
  }

  commitMode(client: string): CommitMode {
    const { commit } = this.program;
    const mode = typeof commit === "object" ? commit[client] : commit;
    return mode ?? (this.store.atomic === undefined ? "two-phase" : "one-phase");
  }

  oracleOf(client: ExploredClient): Oracle {
    const { atomic } = this.store;
    const next = () => (atomic === undefined ? ++this.#timestamp : atomic.next());
    return {
      next: () => client.send(timestampRequest("next timestamp", true, next)),
      latest: () => {
        if (client.isDirect || (this.program.systemRequests ?? "none") === "none") return this.counter();
        return client.send(timestampRequest("latest timestamp", false, () => this.counter()));
      },
    };
  }

  /** Whether the budget has a fault of this kind left. */
  may(fault: Fault): boolean {
    return this.#used[fault] < (this.program.faults?.[fault] ?? 0);
  }

  use(fault: Fault): void {
    this.#used[fault]++;
  }

  /** Whether no client waits for an answer that could come. */
  isStill(): boolean {
    return !this.clients.some((client) =>
      [...client.waiting.values()].some(({ request }) => request.ready?.() ?? true),
    );
  }

  postpone(client: ExploredClient, waiting: WaitingRequest): void {
    const key = `${client.name}:${waiting.number}`;
    const { high, low } = hashText(waiting.request.describe());
    this.late.set(key, { key, client: client.name, waiting, digest: `${key}=${high},${low}` });
  }

  ended(client: ExploredClient, end: ClientEnd): void {
    if (client.end !== undefined) return;
    client.end = end;
    if (end.outcome !== "failed") return;
    const { error } = end;
    if (error instanceof PercolatorError && expected.has(error.code)) return;
    const shown = error instanceof Error ? (error.stack ?? error.message) : String(error);
    this.fail(`Client ${client.name} failed: ${shown}`);
  }

  violated({ invariant, name, where, message }: Violation): void {
    this.fail(`Invariant ${invariant} (${name}) is broken at ${where}: ${message}`);
  }

  fail(message: string): void {
    this.#failure ??= { message };
  }

  /** Adds a line to the trace, if there is one. */
  note(client: string, what: () => string): void {
    this.#trace?.push(`${client}: ${what()}`);
  }

  noteAnswer(client: string, request: Request, answer: unknown, more = ""): void {
    this.note(client, () => `${request.describe()} -> ${request.show(answer)}${more}`);
  }

  /**
   * Without atomic batches, a request that is still pending when the safepoint moves must never
   * arrive, unless its client waits for it (protocol §7.4).
   */
  #expire(rows: readonly { readonly table: string; readonly row: Uint8Array }[]): void {
    const { table, row } = safepointCell;
    if (rows.some((each) => each.table === table && Buffer.compare(each.row, row) === 0)) this.late.clear();
  }
}

function tablesOf(program: Program): readonly string[] {
  const tables = (program.tables ?? []).map((table) => table[definition].name);
  return [...ownTables, ...tables];
}
