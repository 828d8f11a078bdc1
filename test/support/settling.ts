import {
  type Column,
  type Database,
  DerivationFailedError,
  int,
  type Observer,
  observer,
  PercolatorError,
  signal,
  type Transaction,
  table,
} from "percolatordb";

/** The table of tests that wait for derived writes. */
export const cells = table("cells", {
  a: int(),
  b: int(),
  c: int(),
  d: int(),
  other: int(),
  count: int(),
  ping: signal(),
  echo: signal(),
});

/** An observer that copies a column. */
export const copy = (name: string, from: Column<number>, to: Column<number>): Observer =>
  observer(name, from, (tx, { row, value }) => {
    if (value === undefined) tx.delete(to, row);
    else tx.set(to, row, value);
  });

export const chain: readonly Observer[] = [
  copy("a-to-b", cells.a, cells.b),
  copy("b-to-c", cells.b, cells.c),
  copy("c-to-d", cells.c, cells.d),
];

/** The same, slow enough that a process is killed in the middle of them. */
export const slowChain: readonly Observer[] = [
  [cells.a, cells.b] as const,
  [cells.b, cells.c] as const,
  [cells.c, cells.d] as const,
].map(([from, to]) =>
  observer(`${from.name}-to-${to.name}`, from, async (tx, { row, value }) => {
    await new Promise((resolve) => setTimeout(resolve, 20));
    tx.set(to, row, value!);
  }),
);

/** An observer whose runs hang until the test lets them go on. */
export function stuck(
  name: string,
  column: Column<number>,
): { readonly observer: Observer; readonly letGo: () => void } {
  let letGo = () => {};
  const going = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  return { observer: observer(name, column, () => going), letGo: () => letGo() };
}

/** Commits, and returns the commit timestamp. */
export async function commit(db: Database, run: (tx: Transaction) => unknown): Promise<number> {
  const done = await db.transact(async (tx) => {
    await run(tx);
    return tx;
  });
  return done.commitTimestamp!;
}

export const read = (db: Database, column: Column<number>, row: string): Promise<number | undefined> =>
  db.transact((tx) => tx.get(column, row));

/** The error with which a call rejects. */
export async function failureOf(waited: Promise<unknown>): Promise<PercolatorError> {
  const error = await waited.then(
    () => new Error("it resolved"),
    (reason: unknown) => reason,
  );
  if (error instanceof PercolatorError) return error;
  throw error;
}

export async function parkedOf(waited: Promise<unknown>): Promise<DerivationFailedError> {
  const error = await failureOf(waited);
  if (error instanceof DerivationFailedError) return error;
  throw error;
}

export async function listed<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

/** Tells whether a promise is still open. */
export function watched(waited: Promise<unknown>): { readonly isOpen: () => boolean } {
  let isOpen = true;
  const close = () => {
    isOpen = false;
  };
  waited.then(close, close);
  return { isOpen: () => isOpen };
}
