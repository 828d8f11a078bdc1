import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type Database,
  type Environment,
  NewerValueError,
  PercolatorError,
  type RowStore,
  type Snapshot,
  systemEnvironment,
  type Transaction,
} from "percolatordb";
import { backup, compact, restore, verifyBackups } from "percolatordb/backup";
import { memoryStore } from "percolatordb/memory";
import { UniqueConstraintError } from "percolatordb/recipes";
import { expect } from "vitest";
import type { CommandLine } from "../../support/command-line.js";
import { openAlone } from "../../support/databases.js";
import { seeded } from "../../support/derived/changes.js";
import {
  type ColumnState,
  cellOf,
  declaredBy,
  keptOf,
  kinds,
  mailKey,
  newestVersion,
  numberOf,
  type Program,
  people,
  type TableState,
  tableOf,
  valueFor,
} from "./program.js";

interface Cell {
  readonly n: number;
  /** The version in which it is stored. */
  readonly version: number;
  readonly commit: number;
  readonly incarnation: number;
}

/** What the database must hold, at one moment. */
interface Contents {
  /** By table, row, stored name and qualifier. */
  readonly cells: ReadonlyMap<string, Cell>;
  readonly mails: ReadonlyMap<string, string>;
}

interface Dropped {
  readonly table: string;
  readonly column: string | undefined;
  isComplete: boolean;
}

interface Saved extends Contents {
  readonly name: string;
  readonly takenAt: number;
  readonly program: Program;
  readonly dropped: readonly Dropped[];
  readonly safepoint: number;
}

const keyOf = (table: string, row: string, stored: string, qualifier: string) =>
  [table, row, stored, qualifier].join("\0");
const partsOf = (key: string) => key.split("\0") as [string, string, string, string];
const codeOf = (error: unknown) => (error instanceof PercolatorError ? error.code : undefined);

/** The system's clock, except that it can be advanced. */
function advancedClock(): { readonly environment: Environment; advance(ms: number): void } {
  let aheadMs = 0;
  return {
    environment: { ...systemEnvironment, now: () => systemEnvironment.now() + aheadMs },
    advance(ms) {
      aheadMs += ms;
    },
  };
}

/** A store whose `close` does nothing, because a database closes its store. */
function keptOpen(store: RowStore): RowStore {
  return new Proxy(store, {
    get(target, name) {
      if (name === "close") return async () => {};
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/** A database over months, and what it must hold in plain maps. Every step changes both. */
export class World {
  /** What was done, for messages. */
  readonly log: string[] = [];
  readonly #pick: (below: number) => number;
  readonly #clock = advancedClock();
  readonly #cli: CommandLine;
  readonly #root: string;
  readonly #cells = new Map<string, Cell>();
  readonly #mails = new Map<string, string>();
  /** Rows whose mail another row had when the constraint was rebuilt. They keep it without owning it. */
  readonly #ownsNothing = new Set<string>();
  #location: string | RowStore;
  #db!: Database;
  #program: Program;
  /** The program before the last deploy, which still runs. */
  #old: { readonly db: Database; readonly program: Program } | undefined;
  #dropped: Dropped[] = [];
  #seen: (Contents & { readonly at: number })[] = [];
  #backups: Saved[] = [];
  #safepoint = 0;
  #count = 0;

  private constructor(seed: number, location: string | RowStore | undefined, root: string, cli: CommandLine) {
    this.#pick = seeded(seed * 7_919 + 13);
    // The first numbers of neighbouring seeds are alike.
    for (let i = 0; i < 10; i++) this.#pick(10);
    this.#root = root;
    this.#cli = cli;
    this.#location = location ?? memoryStore({ environment: this.#clock.environment });
    const columns = [this.#column("j", "json"), this.#column("a", "int")];
    this.#program = {
      tables: [{ name: "t0", incarnation: 0, columns }],
      kept: { index: 1, unique: 1, derived: 1 },
    };
  }

  static async make(seed: number, store: "memory" | "folder", cli: CommandLine): Promise<World> {
    const root = await mkdtemp(join(tmpdir(), "percolatordb-months-"));
    const world = new World(seed, store === "folder" ? join(root, "data") : undefined, root, cli);
    await world.#open();
    return world;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#endOld();
    await this.#db.close().catch(() => undefined);
    await rm(this.#root, { recursive: true, force: true });
  }

  /** Makes one random step, and compares everything that can be read. */
  async step(): Promise<void> {
    const steps = {
      write: () => this.#write(this.#db, this.#program, 5 + this.#pick(40)),
      writeMore: () => this.#write(this.#db, this.#program, 5 + this.#pick(40)),
      writeOld: () => this.#writeOld(),
      addColumn: () => this.#addColumn(),
      addTable: () => this.#addTable(),
      rename: () => this.#rename(),
      raise: () => this.#raise(),
      redefine: () => this.#redefine(),
      migrate: () => this.#migrate(),
      migrateMore: () => this.#migrate(),
      drop: () => this.#drop(),
      dropMore: () => this.#drop(),
      release: () => this.#release(),
      expire: () => this.#setTtl(),
      advance: () => this.#advance(),
      collect: () => this.#collect(this.#pick(2) === 0 ? 1_000 : 100_000),
      backup: () => this.#backUp(),
      restore: () => this.#restore(),
      compact: () => this.#compact(),
      move: () => this.#move(),
      reopen: () => this.#reopen(),
    };
    const name = this.#one(Object.keys(steps)) as keyof typeof steps;
    this.log.push(name);
    const what = await steps[name]();
    if (typeof what === "string") this.log.push(`${this.log.pop()} ${what}`);
    await this.#compare();
    if (this.#pick(2) === 0) await this.compareDerived();
  }

  #one<T>(list: readonly T[]): T {
    return list[this.#pick(list.length)]!;
  }

  // What must be there

  #contents(): Contents {
    return { cells: new Map(this.#cells), mails: new Map(this.#mails) };
  }

  async #compare(): Promise<void> {
    {
      await using snapshot = await this.#db.snapshot();
      await this.#compareAt(snapshot, this.#contents());
      this.#seen.push({ at: snapshot.timestamp, ...this.#contents() });
    }
    if (this.#seen.length > 8) this.#seen.splice(this.#pick(8), 1);
    this.#seen = this.#seen.filter(({ at }) => at >= this.#safepoint);
    for (const seen of this.#seen) {
      await using past = await this.#db.snapshot({ at: seen.at });
      await this.#compareAt(past, seen);
    }
  }

  async #compareAt(snapshot: Snapshot, { cells, mails }: Contents): Promise<void> {
    const expected = new Map<string, number>();
    const found = new Map<string, number>();
    for (const table of this.#program.tables) {
      for (const column of table.columns) {
        const own = [...cells].filter(([key]) => {
          const [name, , stored] = partsOf(key);
          return name === table.name && stored === column.stored;
        });
        // A column of another type had the name then.
        if (own.some(([, { incarnation }]) => incarnation !== column.incarnation)) continue;
        for (const [key, { n }] of own) expected.set(key, n);
        const alone = tableOf({ ...table, columns: [column] });
        for await (const { row, value } of snapshot.scan(alone)) {
          const read: unknown = (value as Record<string, unknown>)[column.name];
          // The row has only other columns.
          if (read === undefined) continue;
          const entries =
            column.kind === "family" ? [...(read as Map<string, unknown>)] : [["", read] as const];
          for (const [qualifier, each] of entries) {
            found.set(keyOf(table.name, row, column.stored, qualifier), numberOf(column, each));
          }
        }
      }
    }
    expect(found).toEqual(expected);
    const readMails = new Map<string, string | undefined>();
    for await (const { row, value } of snapshot.scan(people)) readMails.set(row, value.mail);
    expect(readMails).toEqual(mails);
  }

  /** Compares what observers and recipes keep with a recomputation. */
  async compareDerived(): Promise<void> {
    const [db, program] = [this.#db, this.#program];
    await db.drain();
    const { byNumber, sums } = keptOf(program);
    const { index, derived } = program.kept;
    await using snapshot = await db.snapshot();
    const numbers = [...this.#cells].flatMap(([key, { n }]) => {
      const [table, row, stored] = partsOf(key);
      return table === "t0" && stored === "j" ? [{ row, n }] : [];
    });
    const entries: string[] = [];
    for await (const { by, row } of byNumber.range(snapshot)) entries.push(`${by} ${row}`);
    expect(entries.sort()).toEqual(numbers.map(({ row, n }) => `${n % (3 + index)} ${row}`).sort());
    const groups = new Map<string, { count: number; sum: number; max: number }>();
    for (const { n } of numbers) {
      const key = JSON.stringify([n % (2 + derived)]);
      const { count, sum, max } = groups.get(key) ?? { count: 0, sum: 0, max: 0 };
      groups.set(key, { count: count + 1, sum: sum + n, max: Math.max(max, n) });
    }
    const found = new Map<string, object>();
    for await (const { row, value } of snapshot.scan(sums.table))
      found.set(JSON.stringify(row), { ...value });
    expect(found).toEqual(groups);
    expect(await sums.compare(snapshot)).toEqual([]);
    const owning = [...this.#mails].filter(([row]) => !this.#ownsNothing.has(row));
    expect(await this.#owners(snapshot)).toEqual(
      new Map(owning.map(([row, mail]) => [mailKey(program)(mail), row])),
    );
    expect(await db.check()).toEqual([]);
    for await (const parked of db.parked()) expect(parked).toBeUndefined();
    const { differences } = await db.schema(declaredBy(program));
    expect(differences.filter(({ action }) => action !== "drop")).toEqual([]);
  }

  // Programs

  async #open(): Promise<void> {
    const location = typeof this.#location === "string" ? this.#location : keptOpen(this.#location);
    this.#db = await openAlone(location, {
      ...declaredBy(this.#program),
      environment: this.#clock.environment,
      ...(typeof location === "string" ? { durability: "none" } : {}),
      collectEveryMs: 0,
      expireEveryMs: 0,
    });
    if (this.#pick(2) === 0) await this.#db.drain();
    const { byNumber, mails, sums } = keptOf(this.#program);
    await byNumber.rebuild(this.#db);
    await mails.rebuild(this.#db);
    await sums.backfill(this.#db);
    await this.#noteOwners();
  }

  /** After a rebuild, every mail has an owner that has it. */
  async #noteOwners(): Promise<void> {
    await using snapshot = await this.#db.snapshot();
    const owners = await this.#owners(snapshot);
    const key = mailKey(this.#program);
    expect(new Set(owners.keys())).toEqual(new Set([...this.#mails.values()].map(key)));
    for (const [mail, owner] of owners) expect(key(this.#mails.get(owner) ?? "")).toBe(mail);
    this.#ownsNothing.clear();
    for (const [row, mail] of this.#mails) if (owners.get(key(mail)) !== row) this.#ownsNothing.add(row);
  }

  async #owners(snapshot: Snapshot): Promise<ReadonlyMap<string, string>> {
    const { mails } = keptOf(this.#program);
    const owners = new Map<string, string>();
    for await (const { row } of snapshot.scan(mails.table)) {
      owners.set(String(row), (await mails.findByKey(snapshot, String(row))) ?? "");
    }
    return owners;
  }

  async #endOld(): Promise<void> {
    await this.#old?.db.close();
    this.#old = undefined;
  }

  async #reopen(): Promise<void> {
    await this.#db.close();
    await this.#open();
  }

  /** Opens the next program while the one before still runs. */
  async #deploy(change: (next: Program) => string | undefined): Promise<string> {
    const next = structuredClone(this.#program);
    const what = change(next);
    if (what === undefined) return "nothing";
    await this.#endOld();
    this.#old = { db: this.#db, program: this.#program };
    this.#program = next;
    await this.#open();
    return what;
  }

  #column(stored: string, kind = this.#one(kinds)): ColumnState {
    const incarnation = ++this.#count;
    return { name: stored, stored, kind, version: 1, writes: 1, ttlMs: undefined, incarnation };
  }

  #isDropped(table: string, column: string | undefined): boolean {
    return this.#dropped.some(
      (each) => each.table === table && (each.column === undefined || each.column === column),
    );
  }

  #addColumn(): Promise<string> {
    return this.#deploy((next) => {
      const { name, columns } = this.#one(next.tables);
      const stored = `c${this.#pick(6)}`;
      if (columns.some((each) => each.stored === stored) || this.#isDropped(name, stored)) return undefined;
      const column = this.#column(stored);
      columns.push(column);
      return `${name}.${stored}, ${column.kind}`;
    });
  }

  #addTable(): Promise<string> {
    return this.#deploy((next) => {
      const name = `t${1 + this.#pick(3)}`;
      const isTaken = next.tables.some((each) => each.name === name);
      if (isTaken || this.#dropped.some(({ table }) => table === name)) return undefined;
      const columns = [this.#column("c0"), this.#column("c1")];
      next.tables.push({ name, incarnation: ++this.#count, columns });
      return name;
    });
  }

  #rename(): Promise<string> {
    return this.#deploy((next) => {
      const { name, columns } = this.#one(next.tables);
      const column = this.#one(columns);
      column.name = `n${++this.#count}`;
      return `${name}.${column.stored} to ${column.name}`;
    });
  }

  /** Raises the version of a column, in one deploy or in two. */
  #raise(): Promise<string> {
    return this.#deploy((next) => {
      const { name, columns } = this.#one(next.tables);
      const versioned = columns.filter(({ kind }) => kind !== "int" && kind !== "text");
      if (versioned.length === 0) return undefined;
      const column = this.#one(versioned);
      if (column.writes < column.version) column.writes = column.version;
      else if (column.version === newestVersion) return undefined;
      else {
        column.version++;
        if (this.#pick(2) === 0) column.writes = column.version;
      }
      return `${name}.${column.stored} to ${column.version}, writes ${column.writes}`;
    });
  }

  #redefine(): Promise<string> {
    return this.#deploy((next) => {
      const which = this.#one(["index", "unique", "derived"] as const);
      next.kept[which]++;
      return which;
    });
  }

  #setTtl(): Promise<string> {
    return this.#deploy((next) => {
      const { name, columns } = this.#one(next.tables);
      const column = this.#one(columns);
      const isEnd = column.ttlMs !== undefined && this.#pick(2) === 0;
      column.ttlMs = isEnd ? Number.POSITIVE_INFINITY : 1_000 * (1 + this.#pick(600));
      return `${name}.${column.stored} after ${column.ttlMs} ms`;
    });
  }

  // Writes

  async #write(db: Database, program: Program, count: number): Promise<void> {
    for (let i = 0; i < count; i++) {
      const writes: ((tx: Transaction) => void | Promise<void>)[] = [];
      const changes: ((commit: number) => void)[] = [];
      for (let more = this.#pick(6); more >= 0; more--) {
        const table = this.#one(program.tables);
        const column = this.#one(table.columns);
        const row = `r${String(this.#pick(400)).padStart(3, "0")}`;
        const qualifier = column.kind === "family" ? `q${this.#pick(3)}` : "";
        const cell = cellOf(table, column, qualifier);
        const key = keyOf(table.name, row, column.stored, qualifier);
        const n = this.#pick(1_000);
        if (this.#pick(5) === 0) {
          writes.push((tx) => tx.delete(cell, row));
          changes.push(() => void this.#cells.delete(key));
        } else {
          const { writes: version, incarnation } = column;
          writes.push((tx) => tx.set(cell, row, valueFor(column, n)));
          changes.push((commit) => void this.#cells.set(key, { n, version, commit, incarnation }));
        }
      }
      if (this.#pick(3) === 0) {
        const { mails } = keptOf(this.#program);
        const row = `m${this.#pick(40)}`;
        const mail = `${this.#one(["a", "A", "b", "B"])}${this.#one(["a", "A"])}${this.#pick(30)}`;
        const isDelete = this.#pick(3) === 0;
        writes.push((tx) => (isDelete ? mails.delete(tx, row) : mails.set(tx, row, mail)));
        changes.push(() => {
          if (isDelete) this.#mails.delete(row);
          else this.#mails.set(row, mail);
          this.#ownsNothing.delete(row);
        });
      }
      let commit = 0;
      try {
        await db.transact(async (tx) => {
          for (const write of writes) await write(tx);
          tx.onCommit((at) => {
            commit = at;
          });
        });
      } catch (error) {
        if (!(error instanceof UniqueConstraintError)) throw error;
        continue;
      }
      for (const change of changes) change(commit);
    }
  }

  /** The program before the last deploy writes what both know, and reads what it can. */
  async #writeOld(): Promise<string> {
    if (this.#old === undefined) return "nothing";
    const { db, program } = this.#old;
    const tables = program.tables.flatMap((table) => {
      const now = this.#program.tables.find(({ incarnation }) => incarnation === table.incarnation);
      const columns = table.columns.filter(({ incarnation }) =>
        now?.columns.some((each) => each.incarnation === incarnation),
      );
      return columns.length === 0 ? [] : [{ ...table, columns }];
    });
    await this.#write(db, { ...program, tables }, 5 + this.#pick(20));
    await using snapshot = await db.snapshot();
    for (const [key, cell] of this.#cells) {
      const [name, row, stored, qualifier] = partsOf(key);
      const table = tables.find((each) => each.name === name);
      const column = table?.columns.find((each) => each.stored === stored);
      if (table === undefined || column?.incarnation !== cell.incarnation) continue;
      try {
        expect(numberOf(column, await snapshot.get(cellOf(table, column, qualifier), row))).toBe(cell.n);
      } catch (error) {
        if (!(error instanceof NewerValueError)) throw error;
        expect(cell.version).toBeGreaterThan(column.version);
      }
    }
    return tables.map(({ name }) => name).join(" ");
  }

  // Maintenance

  async #migrate(): Promise<string> {
    const state = this.#one(this.#program.tables);
    const versioned = state.columns.filter(({ version }) => version > 1);
    if (versioned.length === 0) return "nothing";
    const old = () =>
      [...this.#cells].flatMap(([key, cell]) => {
        const [name, , stored] = partsOf(key);
        const column = versioned.find((each) => each.stored === stored);
        if (name !== state.name || column === undefined || cell.version >= column.writes) return [];
        return [{ key, cell, column }];
      });
    const table = tableOf(state);
    const before = old();
    const [checked] = await this.#db.migrate([table], { check: true });
    expect(checked).toMatchObject({ changed: before.length, failed: 0 });
    if (this.#pick(3) === 0) {
      const stopped = new AbortController();
      const after = this.#pick(200);
      const onProgress = ({ changed }: { changed: number }) => changed > after && stopped.abort();
      const signal = stopped.signal;
      const isStopped = await this.#db.migrate([table], { signal, onProgress }).then(
        () => false,
        (error: unknown) => codeOf(error) === "ABORTED",
      );
      for (const { key, cell, column } of before) {
        const version = isStopped ? await this.#storedVersion(key, state, column) : column.writes;
        this.#cells.set(key, { ...cell, version });
      }
      if (isStopped) return `${state.name}, interrupted`;
    }
    const writing = this.#pick(2) === 0 ? this.#write(this.#db, this.#program, 20) : undefined;
    const [report] = await this.#db.migrate([table]);
    await writing;
    expect(report?.failed).toBe(0);
    // What was written behind an interrupted call is old still.
    if (report?.continued) await this.#db.migrate([table]);
    for (const { key, cell, column } of old()) this.#cells.set(key, { ...cell, version: column.writes });
    expect(await this.#db.migrate([table], { check: true })).toMatchObject([{ changed: 0 }]);
    return state.name;
  }

  /** The oldest version whose program can read the cell. */
  async #storedVersion(key: string, table: TableState, column: ColumnState): Promise<number> {
    const [, row, , qualifier] = partsOf(key);
    for (let version = 1; ; version++) {
      const older = { ...column, version, writes: version };
      await using snapshot = await this.#db.snapshot();
      try {
        await snapshot.get(cellOf({ ...table, columns: [older] }, older, qualifier), row);
        return version;
      } catch (error) {
        if (!(error instanceof NewerValueError)) throw error;
      }
    }
  }

  async #drop(): Promise<string> {
    const unfinished = this.#dropped.filter(({ isComplete }) => !isComplete);
    let target = unfinished.length > 0 && this.#pick(2) === 0 ? this.#one(unfinished) : undefined;
    if (target === undefined) {
      await this.#deploy((next) => {
        const table = this.#one(next.tables);
        const columns = table.columns.filter(({ stored }) => table.name !== "t0" || stored !== "j");
        if (table.name !== "t0" && this.#pick(3) === 0) {
          next.tables = next.tables.filter((each) => each !== table);
          target = { table: table.name, column: undefined, isComplete: false };
        } else if (table.columns.length > 1 && columns.length > 0) {
          const column = this.#one(columns);
          table.columns = table.columns.filter((each) => each !== column);
          target = { table: table.name, column: column.stored, isComplete: false };
        }
        return target?.table;
      });
      if (target === undefined) return "nothing";
      this.#dropped.push(target);
    }
    const { table, column } = target;
    for (const key of [...this.#cells.keys()]) {
      const [name, , stored] = partsOf(key);
      if (name === table && (column === undefined || column === stored)) this.#cells.delete(key);
    }
    const stopped = new AbortController();
    const after = this.#pick(400) - 100;
    const onProgress = ({ changed }: { changed: number }) => changed > after && stopped.abort();
    const isInterruptible = this.#pick(2) === 0;
    try {
      await this.#db.drop({ table, column }, isInterruptible ? { signal: stopped.signal, onProgress } : {});
      target.isComplete = true;
      // The table's own drop removes what is left of its columns.
      if (column === undefined) for (const each of this.#dropped) each.isComplete ||= each.table === table;
    } catch (error) {
      if (codeOf(error) !== "ABORTED") throw error;
      if (column === undefined)
        for (const each of this.#dropped) each.isComplete ||= each.table === table && each !== target;
    }
    return `${table}.${column ?? "*"}, ${target.isComplete ? "complete" : "interrupted"}`;
  }

  async #release(): Promise<string> {
    if (this.#dropped.length === 0) return "nothing";
    const target = this.#one(this.#dropped);
    const { table, column, isComplete } = target;
    const released = this.#db.release({ table, column });
    if (!isComplete) {
      await expect(released).rejects.toThrow(/is not dropped completely/);
      return `${table}.${column ?? "*"}, refused`;
    }
    await released;
    this.#dropped = this.#dropped.filter((each) => each !== target);
    return `${table}.${column ?? "*"}`;
  }

  async #advance(): Promise<string> {
    const ms = this.#pick(400_000);
    this.#clock.advance(ms);
    await this.#collect(3_600_000);
    return `${ms} ms`;
  }

  async #collect(retentionMs: number): Promise<void> {
    const before = this.#clock.environment.now();
    await this.#db.collect({ retentionMs });
    const after = this.#clock.environment.now();
    this.#safepoint = Math.max(this.#safepoint, (after - retentionMs) * 1_000);
    for (const table of this.#program.tables) {
      for (const column of table.columns) {
        if (column.ttlMs === undefined || column.ttlMs === Number.POSITIVE_INFINITY) continue;
        for (const [key, cell] of [...this.#cells]) {
          const [name, row, stored, qualifier] = partsOf(key);
          if (name !== table.name || stored !== column.stored) continue;
          const expiresAt = cell.commit / 1_000 + column.ttlMs;
          // If it expired meanwhile, both are right.
          await using snapshot = await this.#db.snapshot();
          const isGone =
            expiresAt <= before ||
            (expiresAt <= after && (await snapshot.get(cellOf(table, column, qualifier), row)) === undefined);
          if (isGone) this.#cells.delete(key);
        }
      }
    }
  }

  // Copies

  get #folder(): string | undefined {
    return typeof this.#location === "string" ? this.#location : undefined;
  }

  get #place(): string {
    return join(this.#root, "backups");
  }

  #newFolder(): string {
    return join(this.#root, `data${++this.#count}`);
  }

  async #backUp(): Promise<string> {
    if (this.#folder === undefined) return "nothing";
    const { environment } = this.#clock;
    const { kind, name, takenAt } = await backup(this.#folder, this.#place, { environment });
    if (kind !== "unchanged") {
      const { program, dropped } = structuredClone({ program: this.#program, dropped: this.#dropped });
      this.#backups.push({
        ...this.#contents(),
        name,
        takenAt,
        program,
        dropped,
        safepoint: this.#safepoint,
      });
    }
    expect(await verifyBackups(this.#place)).toMatchObject({ problems: [] });
    return kind;
  }

  async #restore(): Promise<string> {
    if (this.#backups.length === 0) return "nothing";
    const saved = this.#one(this.#backups);
    const into = this.#newFolder();
    const options = { at: new Date(saved.takenAt), environment: this.#clock.environment };
    expect(await restore(this.#place, into, options)).toMatchObject({ name: saved.name });
    const copy = structuredClone({ program: saved.program, dropped: [...saved.dropped] });
    await this.#moveTo(into, () => {
      this.#cells.clear();
      this.#mails.clear();
      for (const [key, cell] of saved.cells) this.#cells.set(key, cell);
      for (const [row, mail] of saved.mails) this.#mails.set(row, mail);
      this.#program = copy.program;
      this.#dropped = copy.dropped;
      this.#safepoint = saved.safepoint;
      this.#seen = [];
    });
    return saved.name;
  }

  async #compact(): Promise<string> {
    if (this.#folder === undefined) return "nothing";
    const into = this.#newFolder();
    await compact(this.#folder, into, { environment: this.#clock.environment });
    await this.#moveTo(into, () => undefined);
    return into;
  }

  /** Exports everything, with what observers have handled, and imports it elsewhere. */
  async #move(): Promise<string> {
    if (this.#folder === undefined) return "nothing";
    const into = this.#newFolder();
    const file = `${into}.jsonl${this.#pick(2) === 0 ? ".gz" : ""}`;
    await this.#db.drain();
    const isAdvanced = this.#clock.environment.now() - systemEnvironment.now() > 1;
    const exported = await this.#cli.run(["export", this.#folder, file]);
    expect(exported.code, exported.stderr).toBe(0);
    const imported = await this.#cli.run(["import", into, file, "--observers"]);
    expect(imported.code, imported.stderr).toBe(0);
    // They are new commits, and nothing is dropped there.
    await this.#moveTo(into, () => {
      this.#dropped = [];
      this.#seen = [];
      this.#safepoint = 0;
    });
    for (const [key, cell] of this.#cells) {
      const [name, row, stored, qualifier] = partsOf(key);
      const table = this.#program.tables.find((each) => each.name === name)!;
      const column = table.columns.find((each) => each.stored === stored)!;
      const [newest] = await this.#db.history(cellOf(table, column, qualifier), row);
      this.#cells.set(key, { ...cell, commit: newest!.commitTimestamp });
    }
    return isAdvanced ? `${into}, by a clock that is behind` : into;
  }

  async #moveTo(location: string, change: () => void): Promise<void> {
    await this.#endOld();
    await this.#db.close();
    this.#location = location;
    change();
    await this.#open();
  }
}
