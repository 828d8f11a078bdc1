import { StoreDamagedError } from "../../errors/index.js";
import type { Feed } from "../../schema/index.js";
import {
  decodeFeedRetention,
  decodeStoredFeed,
  type RegistryCell,
  type StoredFeed,
  type StoredObserver,
} from "./cells.js";
import { watchesPath } from "./registered.js";

/** The registry's record of a feed. */
export interface FeedRecord {
  readonly name: string;
  /** The columns that it follows. */
  readonly columns: readonly StoredObserver[];
  /** The tables that it follows with all their columns. Only a leased feed has them. */
  readonly tables: readonly string[];
  /** Whether it follows every column that an observer watches. Only a leased feed does. */
  readonly observed: boolean;
  /**
   * Whether it is a leased feed. The library itself declares those, for as long as somebody follows
   * them. Their entries have the addresses of the changed cells, but no values.
   */
  readonly isLeased: boolean;
  /** How long it keeps changes, in milliseconds. */
  readonly retentionMs: number;
  /** Commit timestamp of the retention. Later than `since` if another one was declared. */
  readonly retainedSince: number;
  /** Commit timestamp of the record. The feed has the changes of every later commit. */
  readonly since: number;
}

/** A recorded feed, which knows the columns that it follows. */
export class RegisteredFeed {
  readonly record: FeedRecord;
  readonly #paths: ReadonlyMap<string, readonly { readonly name: Buffer; readonly isFamily: boolean }[]>;

  /** `cells`: those of its row in the registry, without deleted ones. */
  constructor(name: string, cells: readonly RegistryCell[]) {
    const cell = (column: string) => cells.find((each) => Buffer.from(each.column).toString() === column);
    const definition = cell("definition");
    const retention = cell("retention");
    if (definition?.value === undefined || retention?.value === undefined) {
      throw new StoreDamagedError(
        `The registry's record of feed ${name} is incomplete. Run \`percolator check\`.`,
      );
    }
    const { columns, tables = [], observed = false } = decodeStoredFeed(definition.value, name);
    this.record = {
      name,
      since: definition.commit,
      retainedSince: retention.commit,
      columns,
      tables,
      observed,
      isLeased: tables.length > 0 || observed,
      ...decodeFeedRetention(retention.value, name),
    };
    const paths = new Map<string, { readonly name: Buffer; readonly isFamily: boolean }[]>();
    for (const { table, column, kind } of this.record.columns) {
      const path = { name: Buffer.from(column), isFamily: kind === "family" };
      paths.set(table, [...(paths.get(table) ?? []), path]);
    }
    this.#paths = paths;
  }

  /** The tables of which it follows something. */
  get tables(): Iterable<string> {
    return [...this.#paths.keys(), ...this.record.tables];
  }

  /** Whether it follows the column with this path. */
  follows(table: string, path: Uint8Array): boolean {
    if (this.record.tables.includes(table)) return true;
    return this.#paths.get(table)?.some(({ name, isFamily }) => watchesPath(name, isFamily, path)) ?? false;
  }
}

/** The definition that a declaration needs. */
export function storedFeed({ columns }: Feed): StoredFeed {
  return { columns: columns.map(({ table, name, kind }) => ({ table: table.name, column: name, kind })) };
}

/** Whether a record follows the same columns as a declaration, in any order. */
export function followsSame(record: Pick<FeedRecord, "columns">, feed: Feed): boolean {
  const name = ({ table, column, kind }: StoredObserver) => `${table}.${column} ${kind}`;
  const recorded = record.columns.map(name).sort();
  const declared = storedFeed(feed).columns.map(name).sort();
  return recorded.length === declared.length && recorded.every((each, index) => each === declared[index]);
}
