import {
  ClosedError,
  family,
  observer,
  open,
  type Transaction,
  table,
  text,
  UnawaitedCallError,
} from "percolatordb";
import { memoryStore } from "percolatordb/memory";
import { exactIndex, exportQueue, rateLimit, schedule, uniqueConstraint } from "percolatordb/recipes";
import type { RowRead } from "percolatordb/store";
import { describe, expect, test } from "vitest";
import { engines, withDatabase } from "../support/databases.js";

const users = table("users", { email: text(), team: text(), note: text(), tags: family(text()) });
const plain = table("plain", { note: text() });
const emails = uniqueConstraint("emails", users.email, { by: (email) => email.toLowerCase() });
const teams = exactIndex("teams", users.team, { by: text(), of: (team) => [team] });

/**
 * Calls that the function does not await. They also fail, which must not hide the transaction's own
 * error.
 */
const calls: Readonly<Record<string, (tx: Transaction) => unknown>> = {
  get: (tx) => tx.get(users.note, "a").then((note) => tx.set(users.note, "b", note ?? "none")),
  getMany: (tx) => tx.getMany(users.note, ["a", "c"]).then((notes) => tx.set(users.note, "b", String(notes))),
  row: (tx) => tx.row(users, "a").then((row) => tx.set(users.note, "b", row?.note ?? "none")),
  deleteRow: (tx) => tx.deleteRow(plain, "a"),
  scan: async (tx) => {
    for await (const { row } of tx.scan(users.note)) tx.set(users.note, `${row}'`, row);
  },
  entries: async (tx) => {
    for await (const { value } of tx.entries(users.tags, "a")) tx.set(users.note, "b", value);
  },
  "unique constraint": (tx) => emails.set(tx, "a", "New@example.org"),
  "exact index": (tx) => teams.set(tx, "a", "red"),
};

const outbox = exportQueue("outbox", { value: text(), deliver: () => {} });
const timers = schedule("timers", { value: text(), fire: () => {} });
const parking = schedule("parking", {
  value: text(),
  attempts: 1,
  fire: () => {
    throw new Error("Not now.");
  },
});
const limit = rateLimit("limit", { perSecond: 1 });

/** Calls that read and then write. */
const forgotten: Readonly<Record<string, (tx: Transaction) => Promise<unknown>>> = {
  deleteRow: (tx) => tx.deleteRow(plain, "a"),
  "unique constraint": (tx) => emails.set(tx, "a", "New@example.org"),
  "exact index": (tx) => teams.set(tx, "a", "red"),
  "export queue": (tx) => outbox.add(tx, "a", "value"),
  schedule: (tx) => timers.at(tx, "a", 1e12, "value"),
  "schedule's cancel": (tx) => timers.cancel(tx, "a"),
  "schedule's retry": (tx) => parking.retry(tx, "a"),
  "schedule's discard": (tx) => parking.discard(tx, "a"),
  "rate limit": (tx) => limit.take(tx, "a"),
};

const recipes = [...outbox.tables, ...timers.tables, ...parking.tables, limit.table];
const within = { tables: [users, plain, emails.table, teams.table, ...recipes] };

test("a forgotten deleteRow whose read fails afterwards rejects only the transaction", async () => {
  const store = memoryStore();
  let fail: (() => void) | undefined;
  const readRow = store.readRow.bind(store);
  const failing = Object.assign(store, {
    readRow: (read: RowRead) =>
      read.table === "plain"
        ? new Promise<never>((_, reject) => {
            fail = () => reject(new ClosedError("The store was closed."));
          })
        : readRow(read),
  });
  await using db = await open(failing, { tables: [plain] });
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => void unhandled.push(reason);
  process.on("unhandledRejection", note);
  try {
    const forgets = (tx: Transaction) => {
      void tx.deleteRow(plain, "a");
    };
    await expect(db.transact(forgets)).rejects.toThrow(UnawaitedCallError);
    fail!();
    for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
    expect(unhandled).toEqual([]);
  } finally {
    process.off("unhandledRejection", note);
  }
});

test("rows of getMany that end with an error after a row that is no key do not end the process", async () => {
  await using db = await open("memory:", { tables: [plain] });
  await using snapshot = await db.snapshot();
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => void unhandled.push(reason);
  process.on("unhandledRejection", note);
  try {
    function* rows(): Generator<string> {
      yield "\ud800";
      throw new Error("The source of the rows failed.");
    }
    await expect(snapshot.getMany(plain.note, rows())).rejects.toThrow("The source of the rows failed.");
    for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
    expect(unhandled).toEqual([]);
  } finally {
    process.off("unhandledRejection", note);
  }
});

describe.each(engines)("$store, commit $commit", (variant) => {
  test.each(Object.entries(calls))("a transaction does not commit while a call of %s is running", (_, call) =>
    withDatabase(variant, within, async (db) => {
      await db.transact(async (tx) => {
        tx.set(users.note, "a", "first");
        tx.set(users.tags.at("x"), "a", "tag");
        tx.set(plain.note, "a", "plain");
        await emails.set(tx, "a", "old@example.org");
      });
      let isFinished = false;
      const forget = (tx: Transaction) => {
        isFinished = false;
        Promise.resolve(call(tx)).then(
          () => {
            isFinished = true;
          },
          () => {},
        );
      };
      const marks = (value: string) => async (tx: Transaction) => {
        tx.set(users.note, "mark", value);
        forget(tx);
      };
      const late = async (tx: Transaction) => {
        await tx.get(users.note, "a");
        await marks("late")(tx);
      };
      for (const run of [forget, marks("early"), late]) {
        await db.transact((tx) => tx.delete(users.note, "mark"));
        const error = await db.transact(run).catch((thrown: unknown) => thrown);
        // If the store answers at once, the call may end before the function's promise. Then the
        // call has done its work, and the transaction rightly commits.
        if (error === undefined && run !== forget && isFinished) continue;
        expect(error).toBeInstanceOf(UnawaitedCallError);
        expect(error).toMatchObject({ code: "UNAWAITED_CALL", retryable: false });
        expect((error as Error).message).toMatch(/An `await` is missing/);
        await using snapshot = await db.snapshot();
        expect(await snapshot.get(users.note, "mark")).toBeUndefined();
      }
    }),
  );

  test.each(Object.entries(forgotten))(
    "a forgotten %s rejects only the transaction, which does not end the process",
    (_, call) =>
      withDatabase(variant, within, async (db) => {
        await db.transact(async (tx) => {
          tx.set(plain.note, "a", "first");
          await emails.set(tx, "a", "a@example.org");
          await timers.at(tx, "a", 1e12, "later");
          await parking.at(tx, "a", 0, "parked");
        });
        await parking.fireDue(db);
        const unhandled: unknown[] = [];
        const note = (reason: unknown) => void unhandled.push(reason);
        process.on("unhandledRejection", note);
        try {
          const forgets = (tx: Transaction) => {
            void call(tx);
          };
          await expect(db.transact(forgets)).rejects.toThrow(UnawaitedCallError);
          await db.transact((tx) => tx.get(plain.note, "a"));
          // Node tells of an unhandled rejection at the end of a turn.
          for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
          expect(unhandled).toEqual([]);
        } finally {
          process.off("unhandledRejection", note);
        }
      }),
  );

  test("the writes of a call with several steps are not lost", () =>
    withDatabase(variant, within, async (db) => {
      const run = async (tx: Transaction) => {
        tx.set(users.note, "mark", "written");
        emails.set(tx, "a", "new@example.org").catch(() => {});
      };
      await expect(db.transact(run)).rejects.toThrow(UnawaitedCallError);
      await using snapshot = await db.snapshot();
      expect(await snapshot.get(users.note, "mark")).toBeUndefined();
    }));

  test("an observer that forgets an await fails and is retried", () => {
    let runs = 0;
    const careless = observer(
      "careless",
      users.note,
      async (tx, { row }) => {
        runs++;
        const call = emails.set(tx, row, "new@example.org");
        call.catch(() => {});
        if (runs > 1) await call;
      },
      { backoff: { initialMs: 1 } },
    );
    return withDatabase(variant, { ...within, observers: [careless] }, async (db) => {
      await db.transact((tx) => tx.set(users.note, "a", "first"));
      await db.drain();
      expect(runs).toBe(2);
      await using snapshot = await db.snapshot();
      expect(await snapshot.get(users.email, "a")).toBe("new@example.org");
    });
  });

  test("a call that was awaited, was abandoned, or has failed does not delay a commit", () =>
    withDatabase(variant, within, async (db) => {
      await db.transact(async (tx) => {
        for (const row of ["a", "b", "c"]) tx.set(users.note, row, row);
      });
      const seen = await db.transact(async (tx) => {
        for await (const { row } of tx.scan(users.note)) if (row === "b") break;
        await expect(tx.get(users as never, "a")).rejects.toThrow("takes a column");
        const [first] = await Promise.all([tx.get(users.note, "a"), tx.getMany(users.note, ["b"])]);
        tx.set(users.note, "mark", "written");
        return first;
      });
      expect(seen).toBe("a");
      await using snapshot = await db.snapshot();
      expect(await snapshot.get(users.note, "mark")).toBe("written");
    }));

  test("a transaction driven by hand does not commit while a call is running either", () =>
    withDatabase(variant, within, async (db) => {
      const tx = await db.begin();
      tx.set(users.note, "mark", "written");
      const forgotten = (async () => {
        for await (const { row } of tx.scan(users.note)) tx.set(users.note, `${row}'`, row);
      })();
      forgotten.catch(() => {});
      await expect(tx.commit()).rejects.toThrow(UnawaitedCallError);
      await expect(tx.commit()).rejects.toThrow(/An `await` is missing|rolled back/);
      await using snapshot = await db.snapshot();
      expect(await snapshot.get(users.note, "mark")).toBeUndefined();
    }));

  test("the error of a call after the commit says that an await may be missing", () =>
    withDatabase(variant, within, async (db) => {
      let kept: Transaction | undefined;
      await db.transact((tx) => {
        kept = tx;
        tx.set(users.note, "a", "a");
      });
      const error = await kept!.get(users.note, "a").catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(ClosedError);
      expect((error as Error).message).toMatch(/check that every earlier call was awaited/);
    }));
});
