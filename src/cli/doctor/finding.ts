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

/** So many equal findings are shown one by one. */
const shownAlone = 5;

/** Joins findings that say the same of many observers or other things of one kind, and names the first of them. */
export function joinEqual(findings: readonly Finding[]): readonly Finding[] {
  const groups = new Map<string, Finding[]>();
  const groupOf = ({ check, ...said }: Finding) => {
    const key = JSON.stringify([kindOf(check), said]);
    const group = groups.get(key) ?? [];
    groups.set(key, group);
    return group;
  };
  for (const finding of findings) groupOf(finding).push(finding);
  return findings.flatMap((finding) => {
    const group = groupOf(finding);
    if (group.length <= shownAlone) return [finding];
    if (group[0] !== finding) return [];
    const kind = kindOf(finding.check);
    const names = group.slice(0, shownAlone).map(({ check }) => check.slice(kind.length + 1));
    const more = group.length - shownAlone;
    return [
      {
        ...finding,
        check: `${group.length} ${kind}s`,
        what: `${finding.what}: ${names.join(", ")} and ${more} more`,
      },
    ];
  });
}

function kindOf(check: string): string {
  return check.split(" ", 1)[0]!;
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
