/**
 * The part of OpenTelemetry's tracer that is used: any of its versions fits, and none needs to be
 * installed.
 */
export interface Tracer {
  startSpan(name: string, options: SpanOptions): Span;
}

/** How a {@link Tracer} is asked for a span. */
export interface SpanOptions {
  readonly kind: number;
  /** Begins a trace of its own, whatever span is active. */
  readonly root?: boolean;
  /** Milliseconds since 1970. */
  readonly startTime: number;
  readonly attributes: Record<string, string | number>;
  readonly links: { context: SpanContext; attributes?: Record<string, string | number> }[];
}

/** By what a span is known to others. */
export interface SpanContext {
  traceId: string;
  spanId: string;
  traceFlags: number;
}

/** The part of OpenTelemetry's span that is used. */
export interface Span {
  spanContext(): SpanContext;
  setStatus(status: { code: number; message?: string }): unknown;
  recordException(exception: Error): void;
  end(endTime?: number): void;
}
