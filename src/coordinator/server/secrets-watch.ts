import type { Environment, Timer } from "../../environment/index.js";
import type { Coordinator } from "./coordinator.js";
import type { CoordinatorOptions } from "./coordinator-options.js";

/**
 * The certificate that a coordinator shows to clients, and the tokens that it accepts from them.
 */
export type Secrets = Pick<CoordinatorOptions, "tls" | "token">;

/** Options of a {@link SecretsWatch}. */
export interface SecretsWatchOptions {
  readonly environment: Environment;
  readonly coordinator: Coordinator;
  /** The secrets that the coordinator was started with. */
  readonly first: Secrets;
  /** Reads the current secrets. */
  readonly read: () => Secrets | Promise<Secrets>;
  /**
   * Called if the secrets that were read cannot be used. The coordinator keeps the previous ones.
   */
  readonly onFailure: (doing: string, error: unknown) => void;
  /** Called after the secrets were replaced. Default: does nothing. */
  readonly onReplaced?: (() => void) | undefined;
  /**
   * Called when the certificate expires soon, with the time in milliseconds since 1970. Default:
   * does nothing.
   */
  readonly onExpiring?: ((expires: number) => void) | undefined;
}

/** Interval between readings of the secrets, in milliseconds. */
const lookMs = 1_000;
/**
 * How long before a certificate expires the warnings begin, and how often they repeat, in
 * milliseconds.
 */
const soonMs = 14 * 86_400_000;
const warnEveryMs = 86_400_000;

/** Reads the secrets of a coordinator every second, and gives changed ones to the coordinator. */
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
      onFailure("loading the changed token and certificate files", error);
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
