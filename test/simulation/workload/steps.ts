import {
  type Database,
  InvalidArgumentError,
  type Observer,
  ObserverError,
  type TransactOptions,
} from "percolatordb";
import type { SeededRandom, SimulatedClient } from "percolatordb/testing";
import { demandEqual } from "./expect.js";
import type { Ledger } from "./ledger.js";
import { laterObservers, mirror, newWords } from "./observers.js";
import { accounts, logins, loginTtlMs, pages, switches } from "./tables.js";

/** The resources of a workload step. */
export interface StepContext {
  readonly client: SimulatedClient;
  readonly db: Database;
  readonly ledger: Ledger;
  readonly random: SeededRandom;
  /** A unique name for the step. */
  readonly name: string;
}

type Step = (context: StepContext) => Promise<unknown>;

const pageNames = ["a", "b", "c", "d"];
const tagNames = ["x", "y"];
const loginNames = ["ann", "bob"];
const limits: TransactOptions = { retries: 4, timeoutMs: 4_000 };

const page = ({ random }: StepContext) => random.pick(pageNames);

function words(random: SeededRandom): string {
  const length = random.chance(0.1) ? 30 : 1 + random.below(4);
  return Array.from({ length }, () => random.pick(["to", "be", "or", "not"])).join(" ");
}

const transfer: Step = ({ db, ledger, random, name }) => {
  const from = random.pick(ledger.accounts);
  const to = random.pick(ledger.accounts.filter((account) => account !== from));
  const amount = 1 + random.below(20);
  const transferring = db.transact(
    async (tx) => {
      const [before = 0, there = 0] = await tx.getMany(accounts.balance, [from, to]);
      // If an earlier attempt has conflicted, it must have written nothing.
      demandEqual(
        "the mark of a transfer that is yet to be",
        await tx.get(accounts.marks.at(name), from),
        undefined,
      );
      tx.set(accounts.balance, from, before - amount);
      tx.set(accounts.balance, to, there + amount);
      tx.set(accounts.marks.at(name), from, to);
      demandEqual("an own write", await tx.get(accounts.balance, from), before - amount);
    },
    { ...limits, label: name },
  );
  return ledger.remember(name, from, transferring);
};

const write: Step = (context) => {
  const { db, random, name } = context;
  const row = page(context);
  const value = words(random);
  return db.transact((tx) => tx.set(pages.text, row, value), { ...limits, label: name });
};

const writeMany: Step = ({ db, random, name }) =>
  db.transact(
    (tx) => {
      for (const row of pageNames) if (random.chance(0.5)) tx.set(pages.text, row, words(random));
    },
    { ...limits, label: name },
  );

const remove: Step = (context) => {
  const { db, random, name } = context;
  const row = page(context);
  const whole = random.chance(0.5);
  return db.transact(
    async (tx) => {
      if (!whole) return tx.delete(pages.text, row);
      // Deletes no derived cells. Observers see the deletion and remove those themselves.
      for await (const { qualifier } of tx.entries(pages.tags, row)) tx.delete(pages.tags.at(qualifier), row);
      tx.delete(pages.text, row);
    },
    { ...limits, label: name },
  );
};

const tag: Step = (context) => {
  const { db, random, name } = context;
  const row = page(context);
  const qualifier = random.pick(tagNames);
  const value = random.chance(0.3) ? undefined : words(random);
  return db.transact(
    (tx) => {
      if (value === undefined) tx.delete(pages.tags.at(qualifier), row);
      else tx.set(pages.tags.at(qualifier), row, value);
    },
    { ...limits, label: name },
  );
};

/**
 * Sometimes notifies several times in a row, so that the next signal arrives while the previous one
 * runs, fails or is parked.
 */
const setTopic: Step = async (context) => {
  const { db, client, random, name } = context;
  const row = page(context);
  for (let left = random.chance(0.4) ? 6 : 1; left > 0; left--) {
    const value = words(random);
    await db.transact(
      (tx) => {
        tx.set(pages.topic, row, value);
        tx.notify(pages.topicChanged, row);
      },
      { ...limits, label: name },
    );
    await client.sleep(random.next() * 20);
  }
};

/**
 * Turns a switch off only if the other switch of its pair is on. This is correct only under
 * `serializable`.
 */
const toggle: Step = ({ db, ledger, random, name }) => {
  const pair = random.pick(ledger.pairs);
  const [mine, other] = random.chance(0.5) ? pair : [pair[1], pair[0]];
  const byScan = random.chance(0.3);
  return db.transact(
    async (tx) => {
      let isOtherOn = false;
      if (byScan) {
        for await (const { row, value } of tx.scan(switches.on)) if (row === other) isOtherOn = value === 1;
      } else isOtherOn = (await tx.get(switches.on, other)) === 1;
      tx.set(switches.on, mine, isOtherOn && random.chance(0.7) ? 0 : 1);
    },
    { ...limits, label: name, isolation: "serializable" },
  );
};

/** Reads for a while, and expects the same values all the time. */
const readLong: Step = async ({ db, client, ledger, random, name }) => {
  await using tx = await db.begin({ label: name, timeoutMs: 20_000 });
  await ledger.checkSum(tx);
  const before = await tx.row(pages, "a");
  await client.sleep(random.next() * random.pick([5, 200, 3_000]));
  await ledger.checkSumByKeys(tx);
  await ledger.checkSwitches(tx);
  demandEqual("a row read again", JSON.stringify(await tx.row(pages, "a")), JSON.stringify(before));
  if (random.chance(0.3)) tx.set(pages.text, "a", words(random));
  await tx.commit();
};

const readPast: Step = async ({ db, client, ledger, random }) => {
  const agoMs = random.next() * random.pick([5, 100, 2_000]);
  const at = new Date(Math.floor(client.environment.now() - agoMs));
  const taken = db.snapshot({ at });
  await using snapshot = await taken.catch((error: unknown) => {
    // The clock was set back meanwhile, so the requested time is now in the future.
    if (error instanceof InvalidArgumentError) return db.snapshot();
    throw error;
  });
  await ledger.checkSum(snapshot, true);
};

const read: Step = async ({ db, ledger }) => {
  await using snapshot = await db.snapshot();
  await ledger.checkSum(snapshot);
  await ledger.checkSwitches(snapshot);
};

const login: Step = ({ db, random, name }) =>
  db.transact((tx) => tx.set(logins.token, random.pick(loginNames), name), { ...limits, label: name });

/** Reads a snapshot for longer than a login lives, while others delete the expired ones. */
const readLogins: Step = async ({ db, client, random }) => {
  await using snapshot = await db.snapshot();
  const before = JSON.stringify(await snapshot.getMany(logins.token, loginNames));
  await client.sleep(random.next() * 2 * loginTtlMs);
  demandEqual(
    "the logins, read again",
    JSON.stringify(await snapshot.getMany(logins.token, loginNames)),
    before,
  );
};

/** Deletes expired logins, too. */
const collect: Step = ({ db }) => db.collect();

/** Retries or discards parked changes. */
const lookAtParked: Step = async ({ db, ledger, random }) => {
  for await (const parked of db.parked()) {
    const { observer, row } = parked;
    const given = { review: ledger.notReviewed, topic: ledger.notSeen }[observer];
    if (given === undefined || typeof row !== "string" || random.chance(0.5)) await db.retry(parked);
    else {
      given.add(row);
      await db.discard(parked);
    }
  }
};

/** A program with a newer version starts while the old one runs, and derives from existing data. */
const startNewer: Step = async ({ client, ledger, random }) => {
  const later = random.pick([mirror, newWords]);
  const db = await openWith(client, ledger, [later]).catch((error: unknown) => {
    // Another process was faster, with a newer version than this one's.
    if (error instanceof ObserverError) return openWith(client, ledger, laterObservers);
    throw error;
  });
  db.work({ concurrency: 2 });
  if (!random.chance(0.7)) return;
  if (random.chance(0.5)) await db.backfill(later);
  else
    await Promise.all([
      db.backfill(later, { range: { end: "c" } }),
      db.backfill(later, { range: { start: "c" } }),
    ]);
  ledger.backfilled.add(later);
};

function openWith(client: SimulatedClient, { observers }: Ledger, later: readonly Observer[]) {
  const replaced = new Set(later.map(({ name }) => name));
  return client.open({ observers: [...observers.filter(({ name }) => !replaced.has(name)), ...later] });
}

export const steps: Readonly<Record<string, { readonly step: Step; readonly weight: number }>> = {
  transfer: { step: transfer, weight: 6 },
  write: { step: write, weight: 3 },
  "write many": { step: writeMany, weight: 1 },
  remove: { step: remove, weight: 2 },
  tag: { step: tag, weight: 2 },
  topic: { step: setTopic, weight: 2 },
  toggle: { step: toggle, weight: 3 },
  "read long": { step: readLong, weight: 1 },
  "read the past": { step: readPast, weight: 1 },
  read: { step: read, weight: 2 },
  login: { step: login, weight: 3 },
  "read logins": { step: readLogins, weight: 1 },
  collect: { step: collect, weight: 1 },
  "look at what is parked": { step: lookAtParked, weight: 1 },
  "start a newer program": { step: startNewer, weight: 0.3 },
};
