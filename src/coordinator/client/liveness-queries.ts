import type { Environment } from "../../environment/index.js";
import type { MaybePromise } from "../../store/index.js";
import { coordinatorLimits as limits } from "../limits.js";
import { coordinatorService } from "../wire/service.js";
import type { LeaderConnection } from "./leader-connection.js";

/** How long to wait for an answer, in milliseconds. */
const askMs = 1_000;
/**
 * Maximum number of sessions that wait for an answer. For further sessions, `ask` returns undefined
 * (unknown).
 */
const maxWaiting = 10_000;

type Resolve = (alive: boolean | undefined) => void;

/**
 * Asks the coordinator whether sessions are alive. The questions of one turn of the event loop
 * share one request.
 */
export class LivenessQueries {
  readonly #connection: LeaderConnection;
  readonly #environment: Environment;
  readonly #waiting = new Map<string, Promise<boolean | undefined>>();
  #unsent = new Map<string, Resolve>();

  constructor(connection: LeaderConnection, environment: Environment) {
    this.#connection = connection;
    this.#environment = environment;
  }

  /** Whether a session is alive. Undefined if no coordinator answers. */
  ask(session: string): MaybePromise<boolean | undefined> {
    const before = this.#waiting.get(session);
    if (before !== undefined) return before;
    const isPossible = session.length > 0 && session.length <= limits.sessionName;
    if (!isPossible || this.#connection.isAway || this.#waiting.size >= maxWaiting) return undefined;
    const asked = new Promise<boolean | undefined>((resolve) => {
      if (this.#unsent.size === 0) this.#environment.defer(() => this.#send());
      this.#unsent.set(session, (alive) => {
        this.#waiting.delete(session);
        resolve(alive);
      });
    });
    this.#waiting.set(session, asked);
    return asked;
  }

  #send(): void {
    const all = [...this.#unsent];
    this.#unsent = new Map();
    for (let from = 0; from < all.length; from += limits.asked) {
      this.#sendOne(all.slice(from, from + limits.asked));
    }
  }

  #sendOne(asked: readonly (readonly [string, Resolve])[]): void {
    const giveUp = new AbortController();
    const settle = (lives: readonly (boolean | undefined)[]) => {
      timer.cancel();
      for (const [index, [, resolve]] of asked.entries()) resolve(lives[index]);
    };
    const timer = this.#environment.setTimer(() => {
      settle([]);
      giveUp.abort();
    }, askMs);
    const sessions = asked.map(([session]) => session);
    this.#connection
      .ask("Asking the coordinator which sessions are alive", giveUp.signal, (channel, bounded) =>
        channel.ask(coordinatorService.alive, sessions, bounded),
      )
      .then(settle, () => settle([]));
  }
}
