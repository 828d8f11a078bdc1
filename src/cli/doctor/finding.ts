/** One result of `percolator doctor`. */
export interface Finding {
  /** The name of the check. */
  readonly check: string;
  /** `warning`: the database works, but an operator should know. */
  readonly state: "ok" | "warning" | "problem";
  readonly what: string;
  /** What to do, if anything. */
  readonly advice?: string | undefined;
}

/** Returns a finding that reports no problem. */
export function ok(check: string, what: string): Finding {
  return { check, state: "ok", what };
}

/** Returns a finding that an operator should know about. */
export function warning(check: string, what: string, advice: string): Finding {
  return { check, state: "warning", what, advice };
}

/** Returns a finding that needs repair. */
export function problem(check: string, what: string, advice: string): Finding {
  return { check, state: "problem", what, advice };
}

/** Returns the finding for a figure that must stay below a limit. */
export function nearLimit(
  check: string,
  used: number,
  limit: number,
  show: (value: number) => string,
  advice: string,
): Finding {
  const share = limit <= 0 ? 0 : used / limit;
  const what = `${show(used)} of ${show(limit)}`;
  if (share < 0.8) return ok(check, what);
  return share < 0.95 ? warning(check, what, advice) : problem(check, what, advice);
}
