import type { Cluster, ClusterActivity } from "../cluster.js";
import type { TaskBoard } from "../queue/task-board.js";
import type { Registry } from "../registry/registry.js";
import type { Sessions } from "../session/sessions.js";

/** How long to wait for a live process that does not report to the cluster, in milliseconds. */
const patienceMs = 5_000;

/** What runs: the board shows it for this process, the sessions for the others. */
export interface Activity {
  readonly registry: Registry;
  readonly sessions: Sessions;
  readonly board: TaskBoard;
}

/**
 * Called at the end of a look at the hints. Resolves to whether nothing ran since its beginning.
 */
export type Held = () => Promise<boolean>;

/**
 * Finds out whether nothing ran during a look at the hints. If so, its many reads are as good as
 * one (protocol §5.11). A cluster's service knows exactly. Without one, on a store without its own
 * snapshots, this process only knows that nothing ran here, and that it saw no new timestamp.
 */
export class Quiescence {
  readonly #activity: Activity;
  /** Since when a live process has not reported to the cluster. Monotonic time. */
  #unreportedSince: number | undefined;

  constructor(activity: Activity) {
    this.#activity = activity;
  }

  /** Called at the beginning of the look. */
  async begin(signal?: AbortSignal): Promise<Held> {
    const { board, sessions } = this.#activity;
    const completed = board.completed;
    const wasQuiet = board.isQuiet;
    const others =
      sessions.cluster === undefined
        ? await this.#bySight()
        : await this.#byCluster(sessions.cluster, signal);
    return async () => {
      // Asks about the other processes first, so that the check of this process also covers runs
      // that begin meanwhile.
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
   * Quiet if no process is busy before or after, none was in between, and every live process
   * reports.
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

  /** Leaves out this process, which knows its own state at once. */
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
   * Waits a while for a process that is reconnecting. A process that never reports would otherwise
   * be waited for forever.
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
