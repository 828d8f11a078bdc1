import type { Environment, Timer } from "../../environment/index.js";
import type { Coordinator } from "./coordinator.js";
import type { CoordinatorOptions } from "./coordinator-options.js";

/** What a coordinator shows to clients, and asks them for. */
export type Secrets = Pick<CoordinatorOptions, "tls" | "token">;

/** Which coordinator a {@link SecretsWatch} keeps up to date, from what, and whom it tells. */
export interface SecretsWatchOptions {
  readonly environment: Environment;
  readonly coordinator: Coordinator;
  /** What the coordinator was started with. */
  readonly first: Secrets;
  /** The secrets of this moment. */
  readonly read: () => Secrets | Promise<Secrets>;
  /** What was read cannot be used; what was there before still is. */
  readonly onFailure: (doing: string, error: unknown) => void;
  /** Other secrets are used. Default: nobody is told. */
  readonly onReplaced?: (() => void) | undefined;
  /** The certificate ends soon: in milliseconds since 1970. Default: nobody is told. */
  readonly onExpiring?: ((expires: number) => void) | undefined;
}

/** How often the secrets are read again, in milliseconds. */
const lookMs = 1_000;
/** How long before its end a certificate is warned of, in milliseconds, and how often. */
const soonMs = 14 * 86_400_000;
const warnEveryMs = 86_400_000;

/** Reads a coordinator's secrets again every second, and gives the coordinator what has changed. */
export class SecretsWatch {
  readonly #options: SecretsWatchOptions;
  #known: string;
  #warnedAt = Number.NEGATIVE_INFINITY;
  #timer: Timer | undefined;
  #isOver = false;

  constructor(options: SecretsWatchOptions) {
    this.#options = options;
    this.#known = JSON.stringify(options.first);
  }

  start(): void {
    this.#warn();
    this.#lookLater();
  }

  stop(): void {
    this.#isOver = true;
    this.#timer?.cancel();
  }

  #lookLater(): void {
    if (this.#isOver) return;
    const look = () => void this.#look().finally(() => this.#lookLater());
    this.#timer = this.#options.environment.setTimer(look, lookMs, { background: true });
  }

  async #look(): Promise<void> {
    const { read, coordinator, onReplaced, onFailure } = this.#options;
    try {
      const secrets = await read();
      const text = JSON.stringify(secrets);
      if (text !== this.#known && !this.#isOver) {
        coordinator.replace(secrets);
        this.#known = text;
        this.#warnedAt = Number.NEGATIVE_INFINITY;
        onReplaced?.();
      }
      this.#warn();
    } catch (error) {
      onFailure("taking the changed token and certificate files", error);
    }
  }

  #warn(): void {
    const { environment, coordinator, onExpiring } = this.#options;
    const { certificateExpires: expires } = coordinator;
    const now = environment.now();
    if (expires === undefined || expires - now > soonMs || now - this.#warnedAt < warnEveryMs) return;
    this.#warnedAt = now;
    onExpiring?.(expires);
  }
}
