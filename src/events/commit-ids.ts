import { sha256, systemEnvironment } from "../environment/index.js";

/**
 * The generator of span ids that OpenTelemetry's SDK takes: 16 bytes for traces and 8 for spans, in
 * hexadecimal.
 */
export interface IdGenerator {
  generateTraceId(): string;
  generateSpanId(): string;
}

/** Trace id and span id of the span that stands for a commit. */
export interface CommitSpanIds {
  readonly traceId: string;
  readonly spanId: string;
}

/**
 * Generates the ids of spans. The ids of a commit's span are a hash of the database's name and the
 * commit timestamp. Another process can therefore link to the span without any stored trace data.
 * All other ids are random. Made by {@link commitIdGenerator}.
 */
export class CommitIdGenerator implements IdGenerator {
  readonly #database: string;
  readonly #others: IdGenerator;
  #next: CommitSpanIds | undefined;

  /** @internal */
  constructor(database: string, others: IdGenerator) {
    this.#database = database;
    this.#others = others;
  }

  generateTraceId(): string {
    return this.#next?.traceId ?? this.#others.generateTraceId();
  }

  generateSpanId(): string {
    return this.#next?.spanId ?? this.#others.generateSpanId();
  }

  /** The ids of the span that stands for a commit, whichever process committed it. */
  of(commitTimestamp: number): CommitSpanIds {
    const digest = sha256(`${this.#database}\0${commitTimestamp}`);
    return { traceId: digest.slice(0, 32), spanId: digest.slice(32, 48) };
  }

  /**
   * Runs `start`. The span that `start` makes gets `ids`, the ids of a commit.
   *
   * @internal
   */
  during<T>(ids: CommitSpanIds, start: () => T): T {
    this.#next = ids;
    try {
      return start();
    } finally {
      this.#next = undefined;
    }
  }
}

/** Random ids, as OpenTelemetry draws its own. */
const drawn: IdGenerator = {
  generateTraceId: () => hexadecimal(16),
  generateSpanId: () => hexadecimal(8),
};

function hexadecimal(bytes: number): string {
  let text = "";
  for (let drawn = 0; drawn < bytes; drawn += 4) {
    text += Math.floor(systemEnvironment.random() * 2 ** 32)
      .toString(16)
      .padStart(8, "0");
  }
  // OpenTelemetry takes an id of zeros as "no span".
  return /^0+$/.test(text) ? `${text.slice(1)}1` : text;
}

/**
 * An id generator for OpenTelemetry's tracer provider and for `traceDatabase`. With it, the run of
 * an observer links to the commit that caused it, even if another process committed it.
 *
 * @param database A name for the database, such as its location. All its processes use the same
 * name, and no other database uses it.
 * @param others The source of all other ids. Default: random ids.
 *
 * @example
 * const ids = commitIdGenerator("bigtable://project/instance");
 * const provider = new BasicTracerProvider({ idGenerator: ids, spanProcessors });
 * traceDatabase(db, provider.getTracer("my-app"), { ids });
 */
export function commitIdGenerator(database: string, others: IdGenerator = drawn): CommitIdGenerator {
  return new CommitIdGenerator(database, others);
}
