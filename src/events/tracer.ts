/**
 * The part of OpenTelemetry's tracer that this package uses. Every version of OpenTelemetry has
 * this part. The package compiles and runs without OpenTelemetry.
 */
export interface Tracer {
  startSpan(name: string, options: SpanOptions): Span;
}

/** The options with which this package starts a span. */
export interface SpanOptions {
  readonly kind: number;
  /** Whether the span begins a new trace, even if a span is active. */
  readonly root?: boolean;
  /** Milliseconds since 1970. */
  readonly startTime: number;
  readonly attributes: Record<string, string | number>;
  readonly links: { context: SpanContext; attributes?: Record<string, string | number> }[];
}

/** The ids under which other spans link to a span. */
export interface SpanContext {
  traceId: string;
  spanId: string;
  traceFlags: number;
}

/**
 * Whether the ids are those of a span. A tracer makes none before its provider is set up, and while
 * tracing is suppressed.
 */
export function isOfSpan({ spanId }: SpanContext): boolean {
  return !/^0+$/.test(spanId);
}

/** The part of OpenTelemetry's span that this package uses. */
export interface Span {
  spanContext(): SpanContext;
  setStatus(status: { code: number; message?: string }): unknown;
  recordException(exception: Error): void;
  end(endTime?: number): void;
}
