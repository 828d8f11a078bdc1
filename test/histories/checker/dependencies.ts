import type { PlainGraph } from "../../../src/testing/history/check/graph.js";
import type { Element } from "../operations.js";
import { realTimeOrder } from "./real-time.js";
import type { JudgedTransaction } from "./transaction.js";
import type { KeyVersions, Version } from "./versions.js";

/**
 * Why one transaction precedes another: it wrote the previous version (`ww`), wrote the version
 * that was read (`wr`), read the version that was replaced (`rw`), preceded it in its process, or
 * ended before the other began.
 */
export type Why = "ww" | "wr" | "rw" | "process" | "realtime";

export interface Dependency {
  readonly to: number;
  readonly type: Why;
  /** The key, for a dependency on data. */
  readonly key?: Element | undefined;
}

export type Dependencies = PlainGraph<Dependency>;

/**
 * Returns the dependencies of all transactions that committed or may have committed, by index in
 * `nodes`.
 */
export function dependenciesOf(
  nodes: readonly JudgedTransaction[],
  keys: ReadonlyMap<Element, KeyVersions>,
): Dependencies {
  const places = new Map(nodes.map((node, place) => [node, place]));
  const edges: Dependency[][] = nodes.map(() => []);
  const add = (
    from: JudgedTransaction | undefined,
    to: JudgedTransaction | undefined,
    type: Why,
    key?: Element,
  ) => {
    if (from === undefined || to === undefined || from === to) return;
    edges[places.get(from)!]!.push({ to: places.get(to)!, type, key });
  };
  for (const { key, writers, readers, order } of keysWithOrder(keys)) {
    const writerOf = (version: Version) => (version === null ? undefined : writers.get(version));
    for (const [version, all] of readers) for (const reader of all) add(writerOf(version), reader, "wr", key);
    for (const [before, after] of order) {
      add(writerOf(before), writers.get(after), "ww", key);
      for (const reader of readers.get(before) ?? []) add(reader, writers.get(after), "rw", key);
    }
  }
  realTimeOrder(nodes, (before, after) => add(before, after, "realtime"));
  const last = new Map<number, JudgedTransaction>();
  for (const node of nodes) {
    add(last.get(node.process), node, "process");
    last.set(node.process, node);
  }
  return { edges };
}

function* keysWithOrder(keys: ReadonlyMap<Element, KeyVersions>) {
  for (const versions of keys.values()) {
    const { key, writers, readers } = versions;
    yield { key, writers, readers, order: versions.order() };
  }
}
