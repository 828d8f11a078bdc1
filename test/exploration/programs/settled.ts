import { DerivationFailedError, observer, type Transaction } from "../../../src/index.js";
import type { ClientEnd, ClientHandle, Program } from "../../../src/testing/exploration/index.js";
import { lengthOf } from "./observers.js";
import { expectEqual, once, pages } from "./tables.js";

/** Watches what `lengthOf` writes. */
const doubled = observer("doubled", pages.length, (tx, { row, value }) =>
  tx.set(pages.words, row, (value ?? 0) * 2),
);

const counted = observer("counted", pages.poke, (tx, { row }) => tx.set(pages.words, row, 1));

const failing = observer(
  "failing",
  pages.text,
  () => {
    throw new Error("broken");
  },
  { attempts: 1 },
);

/** What a writer found after its commit. */
interface Found {
  readonly isSettled: boolean;
  readonly words: number | undefined;
}

/** Commits, asks once whether that is settled, and reads what observers should have derived. */
const writeAndAsk =
  (write: (tx: Transaction) => void) =>
  async ({ db, isSettled }: ClientHandle): Promise<Found> => {
    const { commitTimestamp } = await db.transact((tx) => {
      write(tx);
      return tx;
    }, once);
    try {
      if (!(await isSettled(commitTimestamp!))) return { isSettled: false, words: undefined };
    } catch (error) {
      if (error instanceof DerivationFailedError) return { isSettled: false, words: undefined };
      throw error;
    }
    return { isSettled: true, words: await db.transact((tx) => tx.get(pages.words, "p"), once) };
  };

/** If the writer was told that its commit is settled, it read what observers have derived. */
const isNeverEarly = (wanted: number) => (ends: Readonly<Record<string, ClientEnd>>) => {
  const end = ends.writer;
  if (end?.outcome !== "returned") return;
  const { isSettled, words } = end.value as Found;
  if (isSettled) expectEqual("what is derived after `settled`", words, wanted);
};

const ofText = {
  tables: [pages],
  asksWhatIsSettled: true,
  // The first text is still due, so that a run may read it while the second one commits.
  setup: (db: ClientHandle["db"]) => db.transact((tx) => tx.set(pages.text, "p", "one")),
  clients: {
    writer: writeAndAsk((tx) => tx.set(pages.text, "p", "three")),
    worker: (client: ClientHandle) => client.work({ looks: 3 }),
  },
} as const;

export const settledOnePhase: Program = {
  ...ofText,
  name: "a writer that asks what is settled, and a worker of a chain of two observers, in one phase",
  observers: [lengthOf, doubled],
  ended: isNeverEarly(10),
};

export const settledTwoPhase: Program = {
  ...ofText,
  name: "a writer that asks what is settled, and a worker of a chain of two observers, in two phases",
  observers: [lengthOf, doubled],
  atomicBatches: false,
  commit: "two-phase",
  ended: isNeverEarly(10),
};

/** No run succeeds, so nothing may be told to be settled. */
export const settledParked: Program = {
  ...ofText,
  name: "a writer that asks what is settled, and a worker that parks it",
  observers: [failing],
  ended: isNeverEarly(-1),
};

export const settledSignal: Program = {
  ...ofText,
  name: "a writer that only notifies and asks what is settled, and a worker, in two phases",
  observers: [counted],
  atomicBatches: false,
  commit: "two-phase",
  setup: undefined,
  clients: { ...ofText.clients, writer: writeAndAsk((tx) => tx.notify(pages.poke, "p")) },
  ended: isNeverEarly(1),
};

/** Another process asks, to which the commit is one from before the feed. */
const askOlder = async ({ db, isSettled }: ClientHandle): Promise<Found> => {
  const [newest] = await db.history(pages.text, "p");
  const isThere = newest?.value === "three" && (await isSettled(newest.commitTimestamp, true));
  if (!isThere) return { isSettled: false, words: undefined };
  return { isSettled: true, words: await db.transact((tx) => tx.get(pages.words, "p"), once) };
};

export const settledOlder: Program = {
  ...ofText,
  name: "a reader that asks what is settled of an older commit, and a worker of a chain of two observers",
  observers: [lengthOf, doubled],
  setup: (db) => db.transact((tx) => tx.set(pages.text, "p", "three")),
  clients: { writer: askOlder, worker: ofText.clients.worker },
  ended: isNeverEarly(10),
};

/** The second worker may run the same change. */
export const settledStops: Program = {
  ...ofText,
  name: "a writer that asks what is settled, and two workers of which one may stop, in one phase",
  observers: [lengthOf, doubled],
  clients: {
    ...ofText.clients,
    other: (client: ClientHandle) => client.work({ looks: 2 }),
  },
  faults: { stops: 1 },
  ended: isNeverEarly(10),
};
