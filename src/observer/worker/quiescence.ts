import type { Cluster, ClusterActivity } from "../cluster.js";
import type { TaskBoard } from "../queue/task-board.js";
import type { Registry } from "../registry/registry.js";
import type { Sessions } from "../session/sessions.js";

/** How long to wait for a live process that does not report to the cluster, in milliseconds. */
const patienceMs = 5_000;

/**
 * The runs in progress: the board shows those of this process, the sessions those of the others.
 */
export interface Activity {
  readonly registry: Registry;
  readonly sessions: Sessions;
  readonly board: TaskBoard;
}

/**
 * Called at the end of a scan of the hints. Resolves to whether nothing has run since the scan
 * began.
 */
export type Held = () => Promise<boolean>;

/**
 * Finds out whether nothing ran during a scan of the hints. If nothing ran, the scan's many reads
 * are as good as a single read (protocol §5.11). In a cluster, the service knows this of all
 * processes. Without a service, on a store without snapshots of its own, this process only knows
 * that nothing ran in itself, and that it saw no new timestamp.
 */
export class Quiescence {
  readonly #activity: Activity;
  /** Since when a live process has not reported to the cluster. Monotonic time. */
  #unreportedSince: number | undefined;

  constructor(activity: Activity) {
    this.#activity = activity;
  }

  /** Called at the beginning of the scan. */
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
   * Nothing ran during the scan if no other process is busy before or after it, and if no busy
   * period began in between. {@link #bear} decides whether to go on without the live processes that
   * do not report to the cluster.
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

  /**
   * Whether no process except this one is busy. This process knows its own state better than the
   * cluster does.
   */
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
   * Whether to go on without the live processes that do not report to the cluster. They may be
   * reconnecting, so the answer is at first false. After `patienceMs`, it is true, and a background
   * failure names them.
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
    const error = new Error(`Some sessions use the store without its coordinator: ${silent.join(", ")}.`);
    events.emit("backgroundFailure", { doing: "finding out whether all processes are idle", error });
    return true;
  }
}
