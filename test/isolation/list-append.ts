/*
 * A small checker of list-append histories in Elle's format, independent of the project's own: from the lists that were read it
 * recovers the order of each key's versions, and looks for what no order can explain.
 */

type Edn = string | number | null | EdnKeyword | readonly Edn[] | ReadonlyMap<string, Edn>;

interface EdnKeyword {
  readonly keyword: string;
}

/** An operation of a history, as its line has it. */
interface Operation {
  readonly type: string;
  readonly process: number;
  readonly value: readonly MicroOperation[];
}

interface MicroOperation {
  readonly f: "append" | "r";
  readonly key: string | number;
  readonly value: number | string | readonly (number | string)[] | null;
}

/** Checks a history; gives the kinds of anomaly that it finds, none when it is sound. */
export function checkListAppend(edn: string): readonly string[] {
  const operations = edn.trim().split("\n").map(parseOperation);
  const check = new ListAppendCheck(operations);
  return check.run();
}

class ListAppendCheck {
  readonly #operations: readonly Operation[];
  readonly #found = new Set<string>();
  /** The longest list that was read of each key. */
  readonly #orders = new Map<string | number, readonly (number | string)[]>();
  readonly #writers = new Map<string, Operation>();
  readonly #failed = new Set<string>();

  constructor(operations: readonly Operation[]) {
    this.#operations = operations;
  }

  run(): readonly string[] {
    this.#checkProcesses();
    this.#collect();
    const committed = this.#operations.filter(({ type }) => type === "ok");
    for (const operation of committed) this.#checkReads(operation);
    // Without one order of each key's versions there are no dependencies to speak of.
    if (!this.#found.has("incompatible-order")) this.#checkCycles(committed);
    return [...this.#found].sort();
  }

  /** A process has one operation at a time, and none after an `:info`. */
  #checkProcesses(): void {
    const state = new Map<number, string>();
    for (const { type, process } of this.#operations) {
      const before = state.get(process) ?? "ok";
      const isRight = type === "invoke" ? before === "ok" || before === "fail" : before === "invoke";
      if (!isRight) this.#found.add("malformed");
      state.set(process, type);
    }
  }

  #collect(): void {
    for (const operation of this.#operations) {
      if (operation.type === "invoke") continue;
      for (const { f, key, value } of operation.value) {
        if (f === "append") {
          const element = elementOf(key, value);
          if (operation.type === "fail") this.#failed.add(element);
          else if (this.#writers.has(element)) this.#found.add("duplicate-append");
          else this.#writers.set(element, operation);
        } else if (operation.type === "ok" && Array.isArray(value)) {
          if (value.length > (this.#orders.get(key)?.length ?? 0)) this.#orders.set(key, value);
        }
      }
    }
  }

  #checkReads(operation: Operation): void {
    const expected = new Map<string | number, (number | string)[]>();
    for (const { f, key, value } of operation.value) {
      const own = expected.get(key);
      if (f === "append") {
        own?.push(value as number | string);
        continue;
      }
      const list = (value ?? []) as readonly (number | string)[];
      if (own !== undefined && JSON.stringify(own) !== JSON.stringify(list)) this.#found.add("internal");
      expected.set(key, [...list]);
      const order = this.#orders.get(key) ?? [];
      if (list.some((element, at) => element !== order[at])) this.#found.add("incompatible-order");
      for (const element of list) {
        if (this.#failed.has(elementOf(key, element))) this.#found.add("G1a");
        else if (!this.#writers.has(elementOf(key, element))) this.#found.add("garbage");
      }
    }
  }

  #checkCycles(committed: readonly Operation[]): void {
    const edges = { ww: new Graph(), wr: new Graph(), rw: new Graph() };
    for (const [key, order] of this.#orders) {
      for (const [at, element] of order.entries()) {
        const [before, after] = [this.#writer(key, order[at - 1]), this.#writer(key, element)];
        edges.ww.add(before, after);
      }
    }
    for (const operation of committed) {
      const appended = new Set<string | number>();
      for (const { f, key, value } of operation.value) {
        if (f === "append") appended.add(key);
        else if (!appended.has(key)) {
          const list = (value ?? []) as readonly (number | string)[];
          edges.wr.add(this.#writer(key, list.at(-1)), operation);
          edges.rw.add(operation, this.#writer(key, this.#orders.get(key)?.[list.length]));
        }
      }
    }
    if (edges.ww.hasCycle()) this.#found.add("G0");
    const flow = edges.ww.with(edges.wr);
    if (flow.hasCycle()) this.#found.add("G1c");
    else if (edges.rw.pairs().some(([reader, writer]) => flow.reaches(writer, reader)))
      this.#found.add("G-single");
  }

  #writer(key: string | number, element: number | string | undefined): Operation | undefined {
    return element === undefined ? undefined : this.#writers.get(elementOf(key, element));
  }
}

class Graph {
  readonly #edges = new Map<Operation, Set<Operation>>();

  add(from: Operation | undefined, to: Operation | undefined): void {
    if (from === undefined || to === undefined || from === to) return;
    this.#edges.set(from, (this.#edges.get(from) ?? new Set()).add(to));
  }

  pairs(): readonly (readonly [Operation, Operation])[] {
    return [...this.#edges].flatMap(([from, all]) => [...all].map((to) => [from, to] as const));
  }

  with(other: Graph): Graph {
    const joined = new Graph();
    for (const [from, to] of [...this.pairs(), ...other.pairs()]) joined.add(from, to);
    return joined;
  }

  reaches(from: Operation, to: Operation): boolean {
    const seen = new Set([from]);
    for (const each of seen) {
      if (each === to) return true;
      for (const next of this.#edges.get(each) ?? []) seen.add(next);
    }
    return false;
  }

  /** By taking away, again and again, what nothing comes before. */
  hasCycle(): boolean {
    const before = new Map<Operation, number>();
    for (const [, to] of this.pairs()) before.set(to, (before.get(to) ?? 0) + 1);
    const free = [...this.#edges.keys()].filter((each) => !before.has(each));
    for (const each of free) {
      for (const next of this.#edges.get(each) ?? []) {
        const left = before.get(next)! - 1;
        if (left > 0) before.set(next, left);
        else {
          before.delete(next);
          free.push(next);
        }
      }
    }
    return before.size > 0;
  }
}

function elementOf(key: string | number, element: unknown): string {
  return JSON.stringify([key, element]);
}

function parseOperation(line: string): Operation {
  const map = new EdnReader(line).read() as ReadonlyMap<string, Edn>;
  const value = map.get("value") as readonly (readonly Edn[])[];
  if (!Number.isInteger(map.get("index"))) throw new Error(`No index: ${line}`);
  return {
    type: (map.get("type") as EdnKeyword).keyword,
    process: map.get("process") as number,
    value: value.map(([f, key, of]) => ({
      f: (f as EdnKeyword).keyword as MicroOperation["f"],
      key: key as string | number,
      value: of as MicroOperation["value"],
    })),
  };
}

/** As much of EDN as a history has. */
class EdnReader {
  readonly #tokens: readonly string[];
  #at = 0;

  constructor(text: string) {
    this.#tokens = text.match(/"(?:[^"\\]|\\.)*"|[[\]{}]|[^\s,[\]{}]+/g) ?? [];
  }

  read(): Edn {
    const token = this.#tokens[this.#at++];
    if (token === undefined) throw new Error("The line ends too early.");
    if (token === "[") return this.#readUntil("]");
    if (token === "{") {
      const items = this.#readUntil("}");
      const pairs = items.flatMap((item, at) =>
        at % 2 === 0 ? [[(item as EdnKeyword).keyword, items[at + 1]!] as const] : [],
      );
      return new Map(pairs);
    }
    if (token === "nil") return null;
    if (token.startsWith(":")) return { keyword: token.slice(1) };
    if (token.startsWith('"')) return JSON.parse(token) as string;
    if (!/^-?\d+$/.test(token)) throw new Error(`Not EDN: ${token}`);
    return Number(token);
  }

  #readUntil(end: string): readonly Edn[] {
    const items: Edn[] = [];
    while (this.#tokens[this.#at] !== end) items.push(this.read());
    this.#at++;
    return items;
  }
}
