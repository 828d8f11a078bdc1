import { createHash } from "node:crypto";
import { systemEnvironment } from "../environment/index.js";

/** What OpenTelemetry's SDK asks for the ids of spans: 16 and 8 bytes in hexadecimal. */
export interface IdGenerator {
  generateTraceId(): string;
  generateSpanId(): string;
}

/** Trace and span id of the span that stands for a commit. */
export interface CommitSpanIds {
  readonly traceId: string;
  readonly spanId: string;
}

/**
 * The ids of spans, of which those that stand for a commit follow from the database and the commit
 * timestamp: so that another process can link to them, though nothing of a trace is stored. All
 * others are drawn. Made by {@link commitIdGenerator}.
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

  /** The ids of the span that stands for a commit, in whichever process it was made. */
  of(commitTimestamp: number): CommitSpanIds {
    const digest = createHash("sha256").update(`${this.#database}\0${commitTimestamp}`).digest("hex");
    return { traceId: digest.slice(0, 32), spanId: digest.slice(32, 48) };
  }

  /**
   * Gives the spans that `start` makes the ids of a commit.
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

/** Drawn ids, as OpenTelemetry's own. */
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
  // All zero says that there is no span.
  return /^0+$/.test(text) ? `${text.slice(1)}1` : text;
}

/**
 * An id generator for OpenTelemetry's tracer provider, to be given to `traceDatabase` too: runs of
 * observers are then linked to the commits that caused them across processes.
 *
 * @param database A name of the database, the same in all its processes and of no other database:
 * its location, for one.
 * @param others Where all other ids come from. Default: drawn at random.
 *
 * @example const ids = commitIdGenerator("bigtable://project/instance"); const provider = new
 * BasicTracerProvider({ idGenerator: ids, spanProcessors }); traceDatabase(db,
 * provider.getTracer("my-app"), { ids });
 */
export function commitIdGenerator(database: string, others: IdGenerator = drawn): CommitIdGenerator {
  return new CommitIdGenerator(database, others);
}
