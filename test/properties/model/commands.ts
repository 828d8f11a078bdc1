import fc from "fast-check";
import type { HistoryEntry, Isolation, ParkedChange } from "percolatordb";
import { expect } from "vitest";
import { expectRuns } from "./observers.js";
import { anyCell, type Operation, operations, reads } from "./operations.js";
import { codeOf, gather, ModelTransaction, perform } from "./perform.js";
import type { ModelSession, Session } from "./session.js";
import { type Cell, cellId, derived, handleOf } from "./tables.js";

const maxOpen = 3;

export type Command = fc.AsyncCommand<ModelSession, Session>;

/** A command whose subclasses differ only in `run`. It describes itself when a run is printed. */
abstract class Step implements Command {
  check(_mine: Readonly<ModelSession>): boolean {
    return true;
  }

  abstract run(mine: ModelSession, real: Session): Promise<void>;

  toString(): string {
    return `${this.constructor.name} ${JSON.stringify(this)}`;
  }
}

class Transact extends Step {
  constructor(
    readonly isolation: Isolation,
    readonly operations: readonly Operation[],
  ) {
    super();
  }

  async run(mine: ModelSession, real: Session): Promise<void> {
    let tx: ModelTransaction | undefined;
    let commit: number | undefined;
    await real.db.transact(
      async (transaction) => {
        tx = mine.begin(transaction.startTimestamp, this.isolation);
        transaction.onCommit(() => {
          commit = transaction.commitTimestamp;
        });
        for (const operation of this.operations) await perform(mine.model, tx, transaction, operation);
      },
      { isolation: this.isolation, retries: 0 },
    );
    mine.committed(tx!, commit);
    expectTimestamps(tx!, commit);
    await real.watch.settled();
  }
}

/**
 * There is a commit timestamp exactly if something was written or notified, and it is above the
 * start.
 */
function expectTimestamps(tx: ModelTransaction, commit: number | undefined): void {
  if (tx.own.size === 0 && tx.signals.size === 0) expect(commit).toBeUndefined();
  else expect(commit).toBeGreaterThan(tx.start);
}

class Begin extends Step {
  constructor(
    readonly isolation: Isolation,
    readonly operations: readonly Operation[],
  ) {
    super();
  }

  override check(mine: Readonly<ModelSession>): boolean {
    return mine.slots.size < maxOpen;
  }

  async run(mine: ModelSession, real: Session): Promise<void> {
    const slot = Array.from({ length: maxOpen }, (_, each) => each).find((each) => !mine.slots.has(each))!;
    const transaction = await real.db.begin({ isolation: this.isolation });
    real.slots.set(slot, transaction);
    expect(transaction.startTimestamp).toBeGreaterThanOrEqual(Math.max(...mine.model.moments));
    const tx = mine.begin(transaction.startTimestamp, this.isolation);
    mine.slots.set(slot, tx);
    for (const operation of this.operations) await perform(mine.model, tx, transaction, operation);
  }
}

/** A step of one of the open transactions. */
abstract class SlotStep extends Step {
  constructor(readonly which: number) {
    super();
  }

  override check(mine: Readonly<ModelSession>): boolean {
    return mine.slots.size > 0;
  }

  slot(mine: ModelSession): number {
    const open = [...mine.slots.keys()];
    return open[this.which % open.length]!;
  }
}

class GoOn extends SlotStep {
  constructor(
    which: number,
    readonly operations: readonly Operation[],
  ) {
    super(which);
  }

  async run(mine: ModelSession, real: Session): Promise<void> {
    const slot = this.slot(mine);
    for (const operation of this.operations) {
      await perform(mine.model, mine.slots.get(slot)!, real.slots.get(slot)!, operation);
    }
    await real.watch.settled();
  }
}

class Commit extends SlotStep {
  async run(mine: ModelSession, real: Session): Promise<void> {
    const slot = this.slot(mine);
    const [tx, transaction] = [mine.slots.get(slot)!, real.slots.get(slot)!];
    const expected = tx.conflicts(mine.model);
    const code = await codeOf(() => transaction.commit());
    if (expected !== "perhaps") expect(code).toBe(expected === "yes" ? "CONFLICT" : undefined);
    else expect([undefined, "CONFLICT"]).toContain(code);
    if (code === undefined) {
      expectTimestamps(tx, transaction.commitTimestamp);
      mine.committed(tx, transaction.commitTimestamp);
    }
    mine.slots.delete(slot);
    real.slots.delete(slot);
    await real.watch.settled();
    expect(await codeOf(() => transaction.commit())).toBe("CLOSED");
    expect(await codeOf(() => transaction.get(handleOf({ row: "a", column: "title" }), "a"))).toBe("CLOSED");
  }
}

class Rollback extends SlotStep {
  async run(mine: ModelSession, real: Session): Promise<void> {
    const slot = this.slot(mine);
    await real.slots.get(slot)!.rollback();
    mine.slots.delete(slot);
    real.slots.delete(slot);
  }
}

class LookBack extends Step {
  constructor(
    readonly moment: number,
    readonly beside: number,
    readonly operations: readonly Operation[],
  ) {
    super();
  }

  async run(mine: ModelSession, real: Session): Promise<void> {
    const { model } = mine;
    const { latestTimestamp: known } = await real.db.status();
    expect(known).toBeGreaterThanOrEqual(Math.max(...model.moments));
    const moments = [...model.moments, model.safepoint, known, mine.nowMs * 1_000];
    const at = moments[this.moment % moments.length]! + this.beside;
    const latestOf = (timestamp: number) =>
      real.hasCounter ? timestamp : Math.max(timestamp, mine.nowMs * 1_000);
    const latest = latestOf(known);
    const effective = Math.min(at, latest);
    const expected = refusalAt(at, latest, mine);
    const refusal = await codeOf(async () => (await real.db.snapshot({ at })).close());
    // Without a counter, the snapshot and whatever runs in the background take new timestamps. So
    // `at` may have been in the future at first, and may not be any more.
    const { latestTimestamp: later } = await real.db.status();
    const maybe = real.hasCounter ? expected : refusalAt(at, latestOf(later), mine);
    expect([expected, maybe]).toContain(refusal);
    if (expected !== undefined) return;
    await using snapshot = await real.db.snapshot({ at });
    expect(snapshot.timestamp).toBe(effective);
    const view = new ModelTransaction(effective);
    for (const operation of this.operations) await perform(model, view, snapshot, operation);
  }
}

function refusalAt(at: number, latest: number, { model, nowMs }: ModelSession): string | undefined {
  if (at < 0 || (at > latest && at > nowMs * 1_000)) return "INVALID_ARGUMENT";
  return Math.min(at, latest) < model.safepoint ? "STALE_SNAPSHOT" : undefined;
}

class LookAtHistory extends Step {
  constructor(readonly cell: Cell) {
    super();
  }

  async run(mine: ModelSession, real: Session): Promise<void> {
    const { cell } = this;
    const found = await real.db.history(handleOf(cell), cell.row);
    const known = mine.model.cells.get(cellId(cell));
    const expected = (known?.kept ?? []).toReversed();
    if (cell.column !== "title" && cell.column !== "tags") expect(found.map(asVersion)).toEqual(expected);
    else expectHistoryOfObserved(found, known?.versions ?? [], expected, mine.model.safepoint);
    for (const { commitTimestamp, startTimestamp } of found) {
      expect(startTimestamp).toBeLessThan(commitTimestamp);
    }
  }
}

interface Version {
  readonly commit: number;
  readonly value: unknown;
}

const asVersion = ({ commitTimestamp, value }: HistoryEntry<unknown>): Version => {
  return { commit: commitTimestamp, value };
};

/**
 * Collection keeps more versions of observed cells, for `previous`. Which versions these are
 * depends on the runs of the observers.
 */
function expectHistoryOfObserved(
  found: readonly HistoryEntry<unknown>[],
  all: readonly Version[],
  least: readonly Version[],
  safepoint: number,
): void {
  const versions = found.map(asVersion);
  for (const version of versions) expect(all).toContainEqual(version);
  for (const version of least) {
    if (version.commit > safepoint || version.value !== undefined) expect(versions).toContainEqual(version);
  }
}

class Collect extends Step {
  constructor(readonly retentionMs: number) {
    super();
  }

  async run(mine: ModelSession, real: Session): Promise<void> {
    const { latestTimestamp: known } = await real.db.status();
    const newest = real.hasCounter ? known : Math.max(known, mine.nowMs * 1_000);
    const starts = [...mine.slots.values()].map(({ start }) => start);
    const expected = (latest: number) => {
      const wanted = Math.min((mine.nowMs - this.retentionMs) * 1_000, latest, ...starts);
      return Math.max(mine.model.safepoint, wanted, 0);
    };
    const { safepoint } = await real.db.collect({ retentionMs: this.retentionMs });
    // Without a counter, `collect` may first read the registry again, at a new timestamp. So there
    // are two possible safepoints.
    expect([expected(known), expected(newest)]).toContain(safepoint);
    mine.model.collect(safepoint);
  }
}

class Drain extends Step {
  async run(mine: ModelSession, real: Session): Promise<void> {
    const { observers } = mine;
    const pending = await gather(real.db.pending());
    for (const cell of observers.due()) {
      expect(pending).toContainEqual(
        expect.objectContaining({ row: cell.row, column: cell.column, qualifier: cell.qualifier }),
      );
    }
    real.runs.length = 0;
    const expected = observers.drain();
    await real.db.drain();
    await real.watch.settled();
    expectRuns(real.runs, expected);
    expect(await gather(real.db.pending())).toEqual([]);
    await expectDerived(mine, real);
    await expectParked(mine, real);
  }
}

async function expectDerived({ observers }: ModelSession, real: Session): Promise<void> {
  await using snapshot = await real.db.snapshot();
  const rows = await gather(snapshot.scan(derived));
  const found = new Map<string, object>();
  for (const { row, value } of rows) {
    const { pokes = 0, ...rest } = value;
    const before = observers.pokes.get(row) ?? 0;
    if (observers.notified.has(row)) expect(pokes).toBeGreaterThan(before);
    else expect(pokes).toBe(before);
    observers.pokes.set(row, pokes);
    if (rest.length !== undefined || rest.tags.size > 0) found.set(row, rest);
  }
  for (const row of observers.notified) expect(observers.pokes.get(row) ?? 0).toBeGreaterThan(0);
  observers.notified.clear();
  expect(found).toEqual(observers.derived());
}

async function expectParked({ observers }: ModelSession, real: Session): Promise<readonly ParkedChange[]> {
  const parked = await gather(real.db.parked());
  const names = (rows: readonly unknown[]) => rows.map(String).sort();
  expect(names(parked.map(({ row }) => row))).toEqual(names(observers.parked().map(({ row }) => row)));
  for (const { observer, attempts, error } of parked) {
    expect({ observer, attempts, message: error.message }).toEqual({
      observer: "measure",
      attempts: 2,
      message: "a bad title",
    });
  }
  return parked;
}

class SettleParked extends Step {
  constructor(
    readonly which: number,
    readonly how: "retry" | "discard",
  ) {
    super();
  }

  async run(mine: ModelSession, real: Session): Promise<void> {
    const parked = await expectParked(mine, real);
    const change = parked[this.which % Math.max(1, parked.length)];
    if (change === undefined) return;
    const cell: Cell = { row: change.row as string, column: "title" };
    expect(await real.db[this.how](change)).toBe(true);
    if (this.how === "retry") mine.observers.retry(cell);
    else mine.observers.discard(cell);
    await real.watch.settled();
    expect(await real.db[this.how](change)).toBe(false);
    await expectParked(mine, real);
  }
}

class Reopen extends Step {
  async run(mine: ModelSession, real: Session): Promise<void> {
    const dropped = [...real.slots.values()];
    await real.reopen();
    mine.slots.clear();
    for (const transaction of dropped) await transaction.rollback();
  }
}

class Advance extends Step {
  constructor(readonly ms: number) {
    super();
  }

  async run(mine: ModelSession, real: Session): Promise<void> {
    real.environment.advance(this.ms);
    mine.nowMs = real.environment.now();
  }
}

/** Expects that the database is sound and has no locks. */
export class Check extends Step {
  async run(_mine: ModelSession, real: Session): Promise<void> {
    expect(await real.db.check()).toEqual([]);
    expect(await gather(real.db.locks())).toEqual([]);
  }
}

/** The commands at the end of every run, which check everything once more. */
export const atTheEnd: readonly Command[] = [new Check(), new Drain(), new Check()];

const which = fc.nat({ max: 5 });
const isolation = fc.constantFrom<Isolation>("snapshot", "serializable");
const some = fc.array(operations, { minLength: 1, maxLength: 8 });
const goOn = fc.tuple(which, some).map(([number, list]) => new GoOn(number, list));
const commit = which.map((number) => new Commit(number));
const begin = fc.tuple(isolation, some).map(([level, list]) => new Begin(level, list));
const transactOnce = fc.tuple(isolation, some).map(([level, list]) => new Transact(level, list));

/** The commands for `fc.commands`. More useful commands are in the list more often. */
export const commands: fc.Arbitrary<Command>[] = [
  ...Array<typeof transactOnce>(4).fill(transactOnce),
  ...Array<typeof begin>(4).fill(begin),
  ...Array<typeof goOn>(3).fill(goOn),
  ...Array<typeof commit>(4).fill(commit),
  which.map((number) => new Rollback(number)),
  fc
    .tuple(fc.nat({ max: 1_000 }), fc.integer({ min: -1, max: 1 }), fc.array(reads, { maxLength: 4 }))
    .map(([moment, beside, list]) => new LookBack(moment, beside, list)),
  anyCell.map((cell) => new LookAtHistory(cell)),
  fc.constantFrom(0, 0, 50, 1_000, 3_600_000).map((ms) => new Collect(ms)),
  fc.constant(new Drain()),
  fc
    .tuple(fc.nat({ max: 9 }), fc.constantFrom<"retry" | "discard">("retry", "discard"))
    .map(([number, how]) => new SettleParked(number, how)),
  fc.constant(new Reopen()),
  fc.constantFrom(1, 40, 1_500).map((ms) => new Advance(ms)),
];
