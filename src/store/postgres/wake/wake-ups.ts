import { backoffDelay, type Timer } from "../../../environment/index.js";
import type { CommitWatch } from "../../row-store.js";
import { type Connections, type Held, type Statement, statement } from "../wire/connections.js";

/** The least time between two wake-ups of one process, in milliseconds. The server spaces those of all. */
const gapMs = 20;
/** How long the answer to the own wake-up may take before the connection counts as deaf. */
const testMs = 1_000;
/** Pauses between attempts to listen. */
const backoff = { initialMs: 100, maximumMs: 30_000 };

/**
 * Tells the other processes that something was committed, and listens to them. A wake-up is a
 * `NOTIFY` in a transaction of its own, after the commit and its flush: in the transaction that commits, it
 * would make all commits of the server wait for one another's flushes.
 *
 * A wake-up is a hint. Any may be lost, so who listens also reads the counter from time to time.
 *
 * Sending: a commit sends a wake-up at once, if none was sent for a moment. Commits until then share the next
 * one. The server refuses a wake-up shortly after that of any process and says how long to wait. A wake-up
 * of another process does not count for this one: its sender ignores it.
 *
 * Listening: one connection, while somebody watches. Behind a PgBouncer that gives a connection to others after
 * each transaction, nothing is heard. So the listener first wakes itself, and counts as live only
 * when it has heard that.
 */
export class WakeUps {
  readonly #connections: Connections;
  readonly #schema: string;
  readonly #wake: Statement;
  readonly #sender: string;
  readonly #watchers = new Set<() => void>();
  #isSending = false;
  /** Whether something was committed since the last wake-up. */
  #isWanted = false;
  #pause: Timer | undefined;
  #listener: Listener | undefined;
  #isClosed = false;

  constructor(connections: Connections, schema: string) {
    this.#connections = connections;
    this.#schema = schema;
    this.#wake = statement(
      `select w.wait, (select last_value = w.at from ${schema}.woken) from ${schema}.wake_others($1, null) w`,
    );
    this.#sender = connections.environment.uniqueId();
  }

  /** Takes note that this process has committed something. */
  committed(): void {
    this.#isWanted = true;
    if (!this.#isSending && !this.#isClosed) void this.#send();
  }

  async #send(): Promise<void> {
    this.#isSending = true;
    while (this.#isWanted && !this.#isClosed) {
      this.#isWanted = false;
      let waitMs = gapMs;
      try {
        const [row] = await this.#connections.once(this.#wake, [this.#sender], this.#connections.deadline());
        const [wait, isSent] = row!;
        if (isSent !== "t") this.#isWanted = true;
        if (wait !== null) waitMs = Number(wait);
      } catch {
        // The others look at the counter from time to time.
      }
      await this.#sleep(waitMs);
    }
    this.#isSending = false;
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const { environment } = this.#connections;
      this.#pause = environment.setTimer(resolve, ms, { background: true });
    });
  }

  /** Calls `onCommit` soon after commits of other processes, as long as the connection lasts. */
  watch(onCommit: () => void): CommitWatch {
    const watcher = () => onCommit();
    this.#watchers.add(watcher);
    this.#listener ??= new Listener(this.#connections, this.#schema, this.#sender, () => {
      for (const each of this.#watchers) each();
    });
    const isLive = () => this.#listener?.isLive ?? false;
    return {
      get isLive() {
        return isLive();
      },
      close: () => {
        this.#watchers.delete(watcher);
        if (this.#watchers.size === 0) this.#stopListening();
      },
    };
  }

  #stopListening(): void {
    this.#listener?.close();
    this.#listener = undefined;
  }

  /** Sends and hears nothing more. */
  close(): void {
    this.#isClosed = true;
    this.#pause?.cancel();
    this.#watchers.clear();
    this.#stopListening();
  }
}

/** A connection that listens. If it ends, another takes its place. */
class Listener {
  /** Whether the connection has heard its own wake-up, and has not ended since. */
  isLive = false;
  readonly #connections: Connections;
  readonly #schema: string;
  readonly #sender: string;
  readonly #onWake: () => void;
  #held: Held | undefined;
  #timer: Timer | undefined;
  #attempt = 0;
  #isClosed = false;

  constructor(connections: Connections, schema: string, sender: string, onWake: () => void) {
    this.#connections = connections;
    this.#schema = schema;
    this.#sender = sender;
    this.#onWake = onWake;
    void this.#listen();
  }

  async #listen(): Promise<void> {
    this.#attempt++;
    try {
      const held = await this.#connections.hold();
      if (this.#isClosed) return held.end();
      this.#held = held;
      // A connection that was given up may end late, when the next one is already being made.
      held.onEnd(() => {
        if (this.#held === held) this.#retry();
      });
      held.onNotification((payload) => {
        if (this.#held === held) this.#hear(payload);
      });
      const [row] = await held.run(`select ${this.#schema}.wake_channel()`);
      await held.run(`listen "${row![0]}"`);
      // From another connection: PgBouncer would run both on one of the server, which hears itself.
      const test = statement(`select pg_notify(${this.#schema}.wake_channel(), $1)`);
      await this.#connections.once(test, [testOf(this.#sender)], this.#connections.deadline());
      this.#after(testMs, () => {
        if (!this.isLive) this.#retry();
      });
    } catch {
      // A role that may not, or a server that is away. The counter is still read.
      this.#retry();
    }
  }

  #hear(payload: string): void {
    if (payload === testOf(this.#sender)) {
      this.isLive = true;
      this.#attempt = 0;
    } else if (payload !== this.#sender) this.#onWake();
  }

  /** Ends the connection, and makes another after a pause. */
  #retry(): void {
    if (this.#isClosed) return;
    this.isLive = false;
    this.#held?.end();
    this.#held = undefined;
    const { environment } = this.#connections;
    this.#after(backoffDelay(environment, backoff, Math.max(1, this.#attempt)), () => void this.#listen());
  }

  #after(ms: number, run: () => void): void {
    this.#timer?.cancel();
    this.#timer = this.#connections.environment.setTimer(run, ms, { background: true });
  }

  close(): void {
    this.#isClosed = true;
    this.isLive = false;
    this.#timer?.cancel();
    this.#held?.end();
    this.#held = undefined;
  }
}

function testOf(sender: string): string {
  return `test ${sender}`;
}
