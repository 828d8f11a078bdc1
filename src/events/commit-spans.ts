import type { CommitIdGenerator } from "./commit-ids.js";
import { isOfSpan, type SpanContext, type Tracer } from "./tracer.js";

const internal = 0;
const sampled = 1;

/**
 * Makes spans that stand for commits. Each has its own trace, whose ids every process can derive
 * from the commit timestamp. A run in another process links to this span, and this span links to
 * the span of the transaction, which belongs to the program's own trace.
 */
export class CommitSpans {
  readonly #tracer: Tracer;
  readonly #ids: CommitIdGenerator;
  /**
   * Becomes false if the tracer takes its ids from another generator. Links would then refer to
   * spans that do not exist.
   */
  #isUsed = true;

  constructor(tracer: Tracer, ids: CommitIdGenerator) {
    this.#tracer = tracer;
    this.#ids = ids;
  }

  /** Makes the span of a commit, and links it to the span of its transaction. */
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
    if (isOfSpan(made)) this.#isUsed = made.traceId === ids.traceId && made.spanId === ids.spanId;
    span.end(at);
  }

  /**
   * The context by which a run links to the span of another process's commit. Undefined if the
   * tracer takes its ids from another generator.
   */
  contextOf(commitTimestamp: number): SpanContext | undefined {
    return this.#isUsed ? { ...this.#ids.of(commitTimestamp), traceFlags: sampled } : undefined;
  }
}
