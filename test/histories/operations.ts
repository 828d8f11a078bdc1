/** An element of a list, or the value of a register. Each is written to a key at most once. */
export type Element = number | string;

/** One read or write within a transaction. */
export type Micro =
  | { readonly f: "r"; readonly key: Element; readonly value: Element | readonly Element[] | null }
  | { readonly f: "append" | "w"; readonly key: Element; readonly value: Element };

/**
 * One line of a history in Jepsen's format. A transaction begins (`invoke`), and ends: committed
 * (`ok`), certainly not committed (`fail`), or with an unknown outcome (`info`).
 */
export interface Operation {
  readonly index: number;
  /** Nanoseconds since the run began, on a clock that all processes share. */
  readonly time?: number | undefined;
  readonly type: "invoke" | "ok" | "fail" | "info";
  /**
   * One logical client. It has one transaction at a time, and none after a transaction that ended
   * as `info`.
   */
  readonly process: number;
  readonly value: readonly Micro[];
}

/**
 * The operations of transactions: append to lists and read them, or write registers and read them.
 */
export type Workload = "list-append" | "rw-register";

/** Returns the workload of a history, by its writes. */
export function workloadOf(operations: readonly Operation[]): Workload {
  const isList = operations.some(({ value }) => value.some(({ f }) => f === "append"));
  return isList ? "list-append" : "rw-register";
}

/**
 * Checks the rules of Elle's input. Returns each violation as a sentence. The rules: indices count
 * from 0, times ascend, a process has one transaction at a time and none after an `info`, a
 * completion has the writes of its invocation, and no value is written to a key twice.
 */
export function checkWellFormed(operations: readonly Operation[]): readonly string[] {
  const problems: string[] = [];
  const last = new Map<number, Operation>();
  const written = new Set<string>();
  let time = Number.NEGATIVE_INFINITY;
  for (const [at, operation] of operations.entries()) {
    const { index, type, process, value } = operation;
    const where = `Operation ${index}`;
    if (index !== at) problems.push(`${where} stands at place ${at}.`);
    if (operation.time !== undefined && operation.time < time) problems.push(`${where} goes back in time.`);
    time = operation.time ?? time;
    const before = last.get(process);
    last.set(process, operation);
    if (type === "invoke") {
      if (before?.type === "invoke") problems.push(`${where} begins while process ${process} has another.`);
      if (before?.type === "info") problems.push(`${where} begins after an info of process ${process}.`);
      for (const write of value) {
        if (write.f === "r") continue;
        const name = JSON.stringify([write.key, write.value]);
        if (written.has(name)) problems.push(`${where} writes ${write.value} to key ${write.key} again.`);
        written.add(name);
      }
    } else if (before?.type !== "invoke")
      problems.push(`${where} ends what process ${process} did not begin.`);
    else if (shapeOf(before) !== shapeOf(operation)) {
      problems.push(`${where} is not what process ${process} began.`);
    }
  }
  return problems;
}

/** Returns an operation without the values that it read. */
function shapeOf({ value }: Operation): string {
  return JSON.stringify(value.map((each) => [each.f, each.key, each.f === "r" ? null : each.value]));
}
