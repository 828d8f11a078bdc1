/** What a doctor found of one thing. */
export interface Finding {
  /** What was looked at. */
  readonly check: string;
  /** `warning`: will do, but somebody should know. */
  readonly state: "ok" | "warning" | "problem";
  readonly what: string;
  /** What to do, where something is to be done. */
  readonly advice?: string | undefined;
}

/** Something that is as it should be. */
export function ok(check: string, what: string): Finding {
  return { check, state: "ok", what };
}

/** Something that somebody should know. */
export function warning(check: string, what: string, advice: string): Finding {
  return { check, state: "warning", what, advice };
}

/** Something that is wrong. */
export function problem(check: string, what: string, advice: string): Finding {
  return { check, state: "problem", what, advice };
}

/** The finding for a figure that should not come near a limit. */
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
