import type { Cluster, ClusterActivity } from "../cluster.js";
import type { TaskBoard } from "../queue/task-board.js";
import type { Registry } from "../registry/registry.js";
import type { Sessions } from "../session/sessions.js";

/**
 * How long a live process may not report to the cluster before it is waited for no longer, in
 * milliseconds.
 */
const patienceMs = 5_000;

/** What is under way: here on the board, elsewhere by what the sessions know. */
export interface Activity {
  readonly registry: Registry;
  readonly sessions: Sessions;
  readonly board: TaskBoard;
}

/**
 * Answers, at the end of a look at the hints, whether nothing ran between its beginning and its
 * end.
 */
export type Held = () => Promise<boolean>;

/**
 * Whether nothing went on while the hints were looked at, so that many reads were as good as one
 * (protocol §5.11). The service of a cluster knows it exactly. Without one, on a store that has no
 * snapshot of its own, this process can only say that nothing ran here and that it saw no timestamp
 * taken.
 */
export class Quiescence {
  readonly #activity: Activity;
  /** Since when a live process has not reported to the cluster, by the monotonic clock. */
  #unreportedSince: number | undefined;

  constructor(activity: Activity) {
    this.#activity = activity;
  }

  /** The look begins. */
  async begin(signal?: AbortSignal): Promise<Held> {
    const { board, sessions } = this.#activity;
    const completed = board.completed;
    const wasQuiet = board.isQuiet;
    const others =
      sessions.cluster === undefined
        ? await this.#bySight()
        : await this.#byCluster(sessions.cluster, signal);
    return async () => {
      // The others first: what this process begins meanwhile is seen after it.
      const areStill = await others();
      return areStill && wasQuiet && board.isQuiet && board.completed === completed;
    };
  }

  async #bySight(): Promise<Held> {
    const { oracle } = this.#activity.registry.context;
    const before = await oracle.latest();
    return async () => (await oracle.latest()) === before;
  }

  /**
   * All quiet before and after, nobody's turn between, and nobody who lives and does not report.
   */
  async #byCluster(cluster: Cluster, signal: AbortSignal | undefined): Promise<Held> {
    const before = await cluster.activity(signal);
    const bySight = await this.#bySight();
    return async () => {
      if (before === undefined || !this.#othersQuiet(before)) return false;
      const unreported = await this.#recorded();
      const after = await cluster.activity(signal);
      if (after === undefined || !this.#othersQuiet(after)) return false;
      if (after.epoch !== before.epoch || after.busyPeriods !== before.busyPeriods) return false;
      const silent = unreported.filter((session) => !after.sessions.has(session));
      return this.#bear(silent) && (silent.length === 0 || (await bySight()));
    };
  }

  /** What this process does it knows itself, and at once. */
  #othersQuiet({ busy }: ClusterActivity): boolean {
    const { session } = this.#activity.sessions;
    return busy.size === 0 || (busy.size === 1 && busy.has(session));
  }

  async #recorded(): Promise<readonly string[]> {
    const { sessions } = this.#activity;
    const live = await sessions.list();
    return [...live.keys()].filter((session) => session !== sessions.session);
  }

  /**
   * A process that is connecting anew is waited for; one that never reports would be waited for
   * without end.
   */
  #bear(silent: readonly string[]): boolean {
    if (silent.length === 0) {
      this.#unreportedSince = undefined;
      return true;
    }
    const { environment, events } = this.#activity.registry.context;
    const now = environment.monotonic();
    if (this.#unreportedSince === undefined) {
      this.#unreportedSince = now;
      return false;
    }
    if (now - this.#unreportedSince < patienceMs) return false;
    const error = new Error(`Sessions that work on the store without its coordinator: ${silent.join(", ")}.`);
    events.emit("backgroundFailure", { doing: "finding out whether all processes are idle", error });
    return true;
  }
}
