import type { Place } from "./place.js";

/** The kinds of requests to a store or an oracle. */
export type RequestKind =
  | "read"
  | "mutate"
  | "commit"
  | "timestamp"
  | "counter"
  | "question"
  | "wait"
  | "other";

/**
 * A request of a client to something that it shares with others: a store, an oracle, or a service.
 */
export interface Request<T = unknown> {
  readonly kind: RequestKind;
  /** What it reads or changes. */
  readonly places: readonly Place[];
  /**
   * Whether it may change something at its places. Taking a timestamp is a change: the next request
   * gets another one.
   */
  readonly changes: boolean;
  /** Whether the receiver may perform it after the sender learned that no answer came. */
  readonly mayBeLate: boolean;
  /**
   * Whether the receiver may perform it twice, as if the network had delivered it twice. The sender
   * gets either answer.
   */
  readonly mayRepeat: boolean;
  /** Describes the request in one line. */
  describe(): string;
  /** Performs the request at the receiver. */
  apply(): T | Promise<T>;
  /**
   * Returns the answer that the client receives if no answer comes from the receiver, or throws the
   * error that it receives.
   */
  lost(): T;
  /** Describes the answer in one line. */
  show(answer: T): string;
  /** Returns everything in the answer, to compare it with other answers. */
  digest(answer: T): string;
  /**
   * Wrong answers that the receiver may give, with names. For example, that a live process is dead.
   */
  readonly otherAnswers?: readonly { readonly name: string; readonly answer: T }[] | undefined;
  /** Whether it can be performed now. Undefined means always. */
  readonly ready?: (() => boolean) | undefined;
}

/**
 * The network between a client and what it shares. It decides when a request is performed, how
 * often, and which answer comes back.
 */
export interface Network {
  send<T>(request: Request<T>): Promise<T>;
}
