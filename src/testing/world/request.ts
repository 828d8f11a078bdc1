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
  /** Whether it may change something at its places, even if only the next answer. */
  readonly changes: boolean;
  /** Whether it may be performed after its sender was told that no answer came. */
  readonly mayBeLate: boolean;
  /**
   * Whether it may be performed twice, as a network may deliver a request twice. The sender gets
   * either answer.
   */
  readonly mayRepeat: boolean;
  /** Describes the request in one line. */
  describe(): string;
  /** Performs the request at the receiver. */
  apply(): T | Promise<T>;
  /** Returns what the client is told if no answer comes. Throws if an error tells it. */
  lost(): T;
  /** Describes the answer in one line. */
  show(answer: T): string;
  /** Returns everything in the answer, to compare it with other answers. */
  digest(answer: T): string;
  /** Other answers that may be given: wrong guesses, by name. */
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
