import { StoreDamagedError } from "../../errors/index.js";
import {
  type AnyTable,
  columnPath,
  definition,
  mayReplace,
  type TableDescription,
  tableFromDescription,
} from "../../schema/index.js";
import { allColumns, type Position, pages, type RowMutation } from "../../store/index.js";
import {
  type CellAddress,
  type ColumnObserver,
  type CommittedCell,
  type FeedsOfColumns,
  type Hint,
  LoadedRanges,
  type ObservedColumns,
  type SnapshotReader,
  showRow,
} from "../../transaction/index.js";
import { type BackfillState, decodeBackfill } from "./backfill-state.js";
import {
  decodeDropped,
  decodeForgotten,
  decodeStoredObserver,
  decodeStoredVersion,
  decodeTable,
  generationCell,
  parseBackfillColumn,
  parseRegistryRow,
  type RegistryCell,
  registryRows,
  type StoredDropped,
  type StoredForgotten,
  wholeTable,
} from "./cells.js";
import { DroppedBarrier, type DroppedRecords, type ReleasedNames } from "./dropped.js";
import { type LoadRecord, loadRecord } from "./load-record.js";
import { type ObserverRecord, RegisteredObserver } from "./registered.js";
import { RegisteredFeed } from "./registered-feed.js";

const nobody: readonly RegisteredObserver[] = Object.freeze([]);
const noFeeds: readonly string[] = Object.freeze([]);

/** Names of tables have no NUL. */
const keeperKey = (table: string, column: Uint8Array) =>
  `${table}\0${Buffer.from(column).toString("latin1")}`;

/** The registry as of one snapshot. Immutable. */
export class RegistryView implements ObservedColumns {
  /** The timestamp of the snapshot. */
  readonly at: number;
  /** Commit timestamp of the newest change in it. 0 if nothing was ever recorded. */
  readonly generation: number;
  readonly guards: RowMutation;
  readonly tables: ReadonlyMap<string, TableDescription>;
  readonly observers: ReadonlyMap<string, RegisteredObserver>;
  readonly forgotten: ReadonlyMap<string, StoredForgotten>;
  /** The bulk loads, in the order in which they began. */
  readonly loadRecords: readonly LoadRecord[];
  readonly loads: LoadedRanges | undefined;
  /** The recorded feeds, by name. */
  readonly feedRecords: ReadonlyMap<string, RegisteredFeed>;
  readonly feeds: FeedsOfColumns | undefined;
  readonly droppedRecords: DroppedRecords;
  #dropped: DroppedBarrier | undefined;
  #keepers: ReadonlyMap<string, string> | undefined;
  readonly #byTable = new Map<string, RegisteredObserver[]>();
  readonly #bound = new Map<string, AnyTable>();

  constructor(parts: RegistryParts) {
    this.at = parts.at;
    this.generation = parts.generation;
    this.tables = parts.tables;
    this.observers = parts.observers;
    this.forgotten = parts.forgotten;
    this.loadRecords = parts.loads;
    this.loads = parts.loads.length === 0 ? undefined : new LoadedRanges(parts.loads, this);
    this.guards = guardsOf(parts.generation);
    this.feedRecords = parts.feeds;
    this.feeds = parts.feeds.size === 0 ? undefined : new FeedsByTable(parts.feeds.values(), this);
    this.droppedRecords = parts.dropped;
    this.#dropped = parts.dropped.size === 0 ? undefined : new DroppedBarrier(parts.dropped);
    for (const observer of parts.observers.values()) {
      const { table } = observer.record;
      this.#byTable.set(table, [...(this.#byTable.get(table) ?? []), observer]);
    }
  }

  get dropped(): DroppedBarrier | undefined {
    return this.#dropped;
  }

  /** Keeps out transactions that began before this process knew that names were released. */
  keepOut(released: ReleasedNames): void {
    this.#dropped = new DroppedBarrier(this.droppedRecords, released);
  }

  /**
   * The names that had been recorded or dropped in an earlier view, and were released since then: they are not
   * dropped, and are not recorded as before.
   */
  releasedSince(before: RegistryView): readonly { readonly table: string; readonly column: string }[] {
    const released: { table: string; column: string }[] = [];
    const add = (table: string, column: string) => {
      const dropped = this.droppedRecords.get(table);
      if (!dropped?.has(wholeTable) && !dropped?.has(column)) released.push({ table, column });
    };
    for (const [table, names] of before.droppedRecords) for (const column of names.keys()) add(table, column);
    for (const [table, description] of before.tables) {
      const now = this.tables.get(table);
      if (now?.key !== description.key) {
        add(table, wholeTable);
        continue;
      }
      for (const column of description.columns) {
        const same = now.columns.find(({ name }) => name === column.name);
        if (same === undefined || !mayReplace(column, same)) add(table, column.name);
      }
    }
    return released;
  }

  observed(table: string, column: Uint8Array): boolean {
    const observers = this.#byTable.get(table);
    if (observers === undefined) return false;
    for (const observer of observers) if (observer.watches(column)) return true;
    return false;
  }

  /** The observers of a column. */
  watching(table: string, column: Uint8Array): readonly RegisteredObserver[] {
    return this.#byTable.get(table)?.filter((observer) => observer.watches(column)) ?? nobody;
  }

  showRow(table: string, row: Uint8Array): string {
    return showRowOf(this.table(table), row);
  }

  hints(cell: CellAddress): readonly Hint[] {
    return this.watching(cell.table, cell.column).map((observer) => observer.hint(cell));
  }

  observersOf(table: string, column: Uint8Array): readonly ColumnObserver[] {
    return this.watching(table, column)
      .filter((observer) => !observer.isWeak)
      .map((observer) => observer.ofColumn(column));
  }

  /** The table that is recorded as written with a column. */
  keptWith(table: string, column: Uint8Array): string | undefined {
    this.#keepers ??= new Map(
      [...this.tables].flatMap(([name, { writtenWith: by }]) =>
        by === undefined ? [] : [[keeperKey(by.table, columnPath(by.column, by.qualifier)), name] as const],
      ),
    );
    return this.#keepers.size === 0 ? undefined : this.#keepers.get(keeperKey(table, column));
  }

  /**
   * A recorded table, for a program without the module that declares it. Undefined if it is not
   * recorded.
   */
  table(name: string): AnyTable | undefined {
    const description = this.tables.get(name);
    if (description === undefined) return undefined;
    let bound = this.#bound.get(name);
    if (bound === undefined) {
      bound = tableFromDescription(description);
      this.#bound.set(name, bound);
    }
    return bound;
  }
}

/** The feeds of each column. Most tables have none, so they are found by table first. */
class FeedsByTable implements FeedsOfColumns {
  readonly #byTable = new Map<string, RegisteredFeed[]>();
  readonly ofObserved: string[] = [];
  readonly #keysOnly = new Set<string>();
  readonly #observers: Pick<ObservedColumns, "observed">;

  constructor(feeds: Iterable<RegisteredFeed>, observers: Pick<ObservedColumns, "observed">) {
    this.#observers = observers;
    for (const feed of feeds) {
      const { name, isLeased, observed } = feed.record;
      for (const table of feed.tables) this.#byTable.set(table, [...(this.#byTable.get(table) ?? []), feed]);
      if (observed) this.ofObserved.push(name);
      if (isLeased) this.#keysOnly.add(name);
    }
  }

  feedsOf(table: string, column: Uint8Array): readonly string[] {
    const feeds = this.#byTable.get(table);
    const names =
      feeds === undefined
        ? noFeeds
        : feeds.filter((feed) => feed.follows(table, column)).map(({ record }) => record.name);
    const isObserved = this.ofObserved.length > 0 && this.#observers.observed(table, column);
    return isObserved ? [...names, ...this.ofObserved] : names;
  }

  isObserved({ table, column }: CellAddress): boolean {
    return this.#observers.observed(table, column);
  }

  hasValues(feed: string): boolean {
    return !this.#keysOnly.has(feed);
  }
}

interface RegistryParts {
  readonly at: number;
  readonly generation: number;
  readonly tables: ReadonlyMap<string, TableDescription>;
  readonly observers: ReadonlyMap<string, RegisteredObserver>;
  readonly forgotten: ReadonlyMap<string, StoredForgotten>;
  readonly loads: readonly LoadRecord[];
  readonly feeds: ReadonlyMap<string, RegisteredFeed>;
  readonly dropped: DroppedRecords;
}

function guardsOf(generation: number): RowMutation {
  const { table, row, column } = generationCell;
  const to = Number.POSITIVE_INFINITY;
  return Object.freeze({
    table,
    row,
    guards: Object.freeze([
      Object.freeze({ type: "absent", column, part: "lock", from: 0, to }),
      Object.freeze({ type: "absent", column, part: "write", from: generation + 1, to }),
    ]),
    mutations: Object.freeze([]),
  });
}

/** Shows a row's key in messages. Shows bytes that cannot be decoded as they are. */
export function showRowOf(table: AnyTable | undefined, row: Uint8Array): string {
  if (table === undefined) return showRow(row);
  const { key } = table[definition];
  try {
    return key.format(key.decode(row));
  } catch {
    return showRow(row);
  }
}

interface ObserverCells {
  definition?: RegistryCell;
  version?: RegistryCell;
  readonly backfills: BackfillState[];
}

/** Reads the whole registry at a snapshot. */
export async function readRegistry(reader: SnapshotReader): Promise<RegistryView> {
  const cells: RegistryCell[] = [];
  for await (const { row, cell } of registryCells(reader)) {
    const { column, commit, value } = cell;
    cells.push({ row, column, commit, value });
  }
  return registryOf(reader.timestamp, cells);
}

/** Builds the registry from all its cells of one snapshot. */
export function registryOf(at: number, registry: Iterable<RegistryCell>): RegistryView {
  const tables = new Map<string, TableDescription>();
  const forgotten = new Map<string, StoredForgotten>();
  const cells = new Map<string, ObserverCells>();
  const loads = new Map<string, RegistryCell[]>();
  const feedCells = new Map<string, RegistryCell[]>();
  const dropped = new Map<string, Map<string, StoredDropped>>();
  let generation = 0;
  for (const cell of registry) {
    if (Buffer.compare(cell.row, generationCell.row) === 0) generation = cell.commit;
    const parsed = parseRegistryRow(cell.row);
    if (parsed === undefined || cell.value === undefined) continue;
    const { kind, name } = parsed;
    if (kind === "dropped") {
      const column = Buffer.from(cell.column).toString("utf8");
      const names = dropped.get(name) ?? new Map<string, StoredDropped>();
      dropped.set(name, names.set(column, decodeDropped(cell.value, `${name}.${column}`)));
    } else if (kind === "feed") feedCells.set(name, [...(feedCells.get(name) ?? []), cell]);
    else if (kind === "load") loads.set(name, [...(loads.get(name) ?? []), cell]);
    else if (kind === "table") tables.set(name, decodeTable(cell.value, name));
    else if (kind === "forgotten") forgotten.set(name, decodeForgotten(cell.value, name));
    else {
      const column = Buffer.from(cell.column).toString("utf8");
      const found: ObserverCells = cells.get(name) ?? { backfills: [] };
      cells.set(name, found);
      const backfill = parseBackfillColumn(column);
      if (backfill !== undefined) found.backfills.push(decodeBackfill(cell.value, backfill));
      else if (column === "definition" || column === "version") found[column] = cell;
    }
  }
  const observers = new Map<string, RegisteredObserver>();
  for (const [name, found] of cells) observers.set(name, new RegisteredObserver(decodeObserver(name, found)));
  const feeds = new Map([...feedCells].map(([name, found]) => [name, new RegisteredFeed(name, found)]));
  const records = [...loads].map(([name, found]) => loadRecord(name, found));
  return new RegistryView({
    at,
    generation,
    tables,
    observers,
    forgotten,
    feeds,
    dropped,
    loads: records.filter((each) => each !== undefined).sort((a, b) => a.start - b.start),
  });
}

async function* registryCells(
  reader: SnapshotReader,
): AsyncGenerator<{ readonly row: Uint8Array; readonly cell: CommittedCell }> {
  const { table } = generationCell;
  const end = { row: registryRows.end };
  const read = (start?: Position) => reader.range({ table, start, end, columns: allColumns });
  for await (const page of pages(read, { row: registryRows.start })) {
    for (const { row, cells } of page.rows) for (const cell of cells) yield { row, cell };
  }
}

function decodeObserver(name: string, cells: ObserverCells): ObserverRecord {
  const { definition, version, backfills } = cells;
  if (definition?.value === undefined || version?.value === undefined) {
    throw new StoreDamagedError(
      `The registry's record of observer ${name} is incomplete. Run \`percolator check\`.`,
    );
  }
  const stored = decodeStoredObserver(definition.value, name);
  const storedVersion = decodeStoredVersion(version.value, name);
  return {
    name,
    table: stored.table,
    column: stored.column,
    kind: stored.kind,
    version: storedVersion.version,
    since: definition.commit,
    backfills,
  };
}
