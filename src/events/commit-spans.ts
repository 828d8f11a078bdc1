import type { CommitIdGenerator } from "./commit-ids.js";
import type { SpanContext, Tracer } from "./tracer.js";

const internal = 0;
const sampled = 1;

/**
 * Spans that stand for commits, each in a trace of its own whose ids every process can work out:
 * there runs of other processes are linked to, and from there it is one more link to the
 * transaction, whose own trace is the program's.
 */
export class CommitSpans {
  readonly #tracer: Tracer;
  readonly #ids: CommitIdGenerator;
  /** Unless the tracer was seen to take its ids from elsewhere: then nobody could follow a link. */
  #isUsed = true;

  constructor(tracer: Tracer, ids: CommitIdGenerator) {
    this.#tracer = tracer;
    this.#ids = ids;
  }

  /** Makes the span of a commit, linked to that of its transaction. */
  make(commitTimestamp: number, at: number, transaction: SpanContext | undefined): void {
    if (!this.#isUsed) return;
    const ids = this.#ids.of(commitTimestamp);
    const span = this.#ids.during(ids, () =>
      this.#tracer.startSpan("percolator.commit", {
        kind: internal,
        root: true,
        startTime: at,
        attributes: { "percolator.commit_timestamp": commitTimestamp },
        links: transaction === undefined ? [] : [{ context: transaction }],
      }),
    );
    const made = span.spanContext();
    this.#isUsed = made.traceId === ids.traceId && made.spanId === ids.spanId;
    span.end(at);
  }

  /** What to link to for a commit of another process. */
  contextOf(commitTimestamp: number): SpanContext | undefined {
    return this.#isUsed ? { ...this.#ids.of(commitTimestamp), traceFlags: sampled } : undefined;
  }
}
