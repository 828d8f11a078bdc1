import { CommitOutcomeUnknownError, int, type open, type RowStore, table } from "percolatordb";
import { type PostgresQuery, postgresStore } from "percolatordb/postgres";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { openAlone } from "../support/databases.js";
import { newPlace, type PostgresPlace, removePlace, withSuperuser } from "../support/postgres/index.js";
import { patienceMs } from "../support/waiting.js";
import { calls, connectionLost, FaultyPool, type Interference } from "./faulty-pool.js";

const counters = table("counters", { value: int() });

let place: PostgresPlace;
let pool: FaultyPool;

beforeEach(async () => {
  place = await newPlace();
  pool = new FaultyPool(place.host);
});

afterEach(async () => {
  await pool.end();
  await removePlace(place);
});

const openStore = (options: { readonly durability?: "full" | "none" } = {}): Promise<RowStore> =>
  postgresStore({ pool, schema: place.schema, ...options });

/** Adds 1 to a counter. Returns how many times the transaction ran. */
async function increment(db: Awaited<ReturnType<typeof open>>, row = "a"): Promise<number> {
  let runs = 0;
  await db.transact(async (tx) => {
    runs++;
    tx.set(counters.value, row, ((await tx.get(counters.value, row)) ?? 0) + 1);
  });
  return runs;
}

/** Applies `fault` to the first call of a function, and lets everything else pass. */
function once(
  name: string,
  fault: (send: () => Promise<unknown>, query: PostgresQuery) => Promise<unknown>,
): Interference {
  let isDone = false;
  return async (query, send) => {
    if (isDone || !calls(query, name)) return await send();
    isDone = true;
    return await fault(send, query);
  };
}

describe("a commit without an answer", () => {
  test("that the server has committed is applied once, with its timestamp", async () => {
    await using db = await openAlone(await openStore(), { tables: [counters] });
    await increment(db);
    pool.interfere = once("commit_group", async (send) => {
      await send();
      throw connectionLost();
    });
    expect(await increment(db)).toBe(1);
    const history = await db.history(counters.value, "a");
    expect(history.map(({ value }) => value)).toEqual([2, 1]);
  });

  test("that the server has refused is a conflict, not an unknown outcome", async () => {
    await using db = await openAlone(await openStore(), { tables: [counters] });
    const tx = await db.begin();
    tx.set(counters.value, "a", 100);
    await increment(db);
    pool.interfere = once("commit_group", async (send) => {
      await send();
      throw connectionLost();
    });
    await expect(tx.commit()).rejects.toMatchObject({ code: "CONFLICT" });
  });

  test("that never reached the server is sent again", async () => {
    await using db = await openAlone(await openStore(), { tables: [counters] });
    await increment(db);
    pool.interfere = once("commit_group", () => Promise.reject(connectionLost()));
    expect(await increment(db)).toBe(1);
    expect(await db.transact((tx) => tx.get(counters.value, "a"))).toBe(2);
  });

  test("that reaches the server after it was given up is refused there", async () => {
    await using db = await openAlone(await openStore(), { tables: [counters] });
    await increment(db);
    let given: PostgresQuery | undefined;
    pool.interfere = once("commit_group", (_, query) => {
      given = query;
      return Promise.reject(connectionLost());
    });
    expect(await increment(db)).toBe(1);
    const late = (await pool.send(given!)) as { readonly rows: readonly (readonly string[])[] };
    expect(late.rows[0]![0]).toBe("fenced");
    expect(await db.transact((tx) => tx.get(counters.value, "a"))).toBe(2);
  });

  test("is found out even if the first answer about it is lost too", async () => {
    await using db = await openAlone(await openStore(), { tables: [counters] });
    await increment(db);
    let lost = 0;
    pool.interfere = async (query, send) => {
      if (calls(query, "commit_group") && lost === 0) {
        lost++;
        throw connectionLost();
      }
      if (calls(query, "settle_group") && lost === 1) {
        lost++;
        await send();
        throw connectionLost();
      }
      return await send();
    };
    expect(await increment(db)).toBe(1);
    expect(lost).toBe(2);
    expect(await db.transact((tx) => tx.get(counters.value, "a"))).toBe(2);
  });

  test("is unknown if the server cannot be asked about it", async () => {
    await using db = await openAlone(await openStore(), { tables: [counters] });
    await increment(db);
    pool.interfere = async (query, send) => {
      if (calls(query, "commit_group")) throw connectionLost();
      if (calls(query, "settle_group")) {
        throw Object.assign(new Error("no password"), { code: "28P01", severity: "FATAL" });
      }
      return await send();
    };
    await expect(increment(db)).rejects.toBeInstanceOf(CommitOutcomeUnknownError);
    pool.interfere = (_, send) => send();
    expect(await increment(db)).toBe(1);
    expect(await db.transact((tx) => tx.get(counters.value, "a"))).toBe(2);
  });

  test.each(["ERROR", "FEHLER", "ОШИБКА"])(
    "that the server refuses with %s was not made",
    async (severity) => {
      await using db = await openAlone(await openStore(), { tables: [counters] });
      await increment(db);
      pool.interfere = async (query, send) => {
        if (!calls(query, "commit_group") && !calls(query, "settle_group")) return await send();
        throw Object.assign(new Error("the disk is full"), { code: "53100", severity });
      };
      await expect(increment(db)).rejects.toMatchObject({ code: "STORE_FULL" });
      pool.interfere = (_, send) => send();
      expect(await increment(db)).toBe(1);
    },
  );

  test("is unknown if the server panics, in whatever language", async () => {
    await using db = await openAlone(await openStore(), { tables: [counters] });
    await increment(db);
    pool.interfere = async (query, send) => {
      if (!calls(query, "commit_group") && !calls(query, "settle_group")) return await send();
      throw Object.assign(new Error("the disk is full"), { code: "53100", severity: "PANIK" });
    };
    await expect(increment(db)).rejects.toBeInstanceOf(CommitOutcomeUnknownError);
    pool.interfere = (_, send) => send();
  });

  test("of a process that the server has forgotten is unknown, and the next commit registers again", async () => {
    await using db = await openAlone(await openStore(), { tables: [counters] });
    await increment(db);
    pool.interfere = once("commit_group", async () => {
      await withSuperuser(place.host, (superuser) => superuser.query(`delete from ${quoted()}.writers`));
      throw connectionLost();
    });
    await expect(increment(db)).rejects.toBeInstanceOf(CommitOutcomeUnknownError);
    expect(await increment(db)).toBe(1);
  });
});

describe("the flush", () => {
  /** Holds flushes back until they are released, and counts the answered calls that commit groups. */
  function holdFlushes() {
    const held = { answered: 0, release: () => {} };
    const released = new Promise<void>((resolve) => {
      held.release = resolve;
    });
    pool.interfere = async (query, send) => {
      if (calls(query, "flush")) await released;
      const answer = await send();
      if (calls(query, "commit_group")) held.answered++;
      return answer;
    };
    return held;
  }

  const untilAnswered = (held: { readonly answered: number }, calls: number) =>
    vi.waitFor(() => expect(held.answered).toBeGreaterThanOrEqual(calls), { timeout: patienceMs });

  /** Whether a promise is settled after the store has answered other requests. */
  async function isOver(store: RowStore, promise: Promise<unknown>): Promise<boolean> {
    let over = false;
    promise.then(
      () => {
        over = true;
      },
      () => undefined,
    );
    for (let turn = 0; turn < 20; turn++) await store.atomic!.counter();
    return over;
  }

  const put = (store: RowStore, row: string) =>
    store.mutate({
      table: "t",
      row: Buffer.from(row),
      guards: [],
      mutations: [
        { type: "put", column: Buffer.from("c"), part: "write", timestamp: 1, value: Buffer.from("x") },
      ],
    });

  test("comes before the answer, and others read the commit meanwhile", async () => {
    const store = await openStore();
    await put(store, "a");
    const held = holdFlushes();
    const answer = put(store, "b");
    await untilAnswered(held, 1);
    expect(await isOver(store, answer)).toBe(false);
    const page = await store.readRange({ table: "t", columns: [{ exact: Buffer.from("c") }], at: 9 });
    expect(page.rows).toHaveLength(2);
    held.release();
    expect(await answer).toBe("applied");
    await store.close();
  });

  test('comes after the answer with durability "none"', async () => {
    const store = await openStore({ durability: "none" });
    const held = holdFlushes();
    expect(await put(store, "a")).toBe("applied");
    held.release();
    await store.close();
  });

  test("of a restarted server that lost the commit is not an answer: the commit fails", async () => {
    const store = await openStore();
    await put(store, "a");
    const held = holdFlushes();
    const answer = put(store, "b");
    await untilAnswered(held, 1);
    expect(await isOver(store, answer)).toBe(false);
    // What a crash leaves: neither the row nor the record of the group.
    await withSuperuser(place.host, async (superuser) => {
      await superuser.query(`delete from ${quoted()}.cells where "row" = 'b'`);
      await superuser.query(`update ${quoted()}.writers set number = number - 1`);
    });
    // The next group must not make the lost one look committed.
    const next = put(store, "d");
    await untilAnswered(held, 2);
    expect(await isOver(store, next)).toBe(false);
    held.release();
    await expect(answer).rejects.toMatchObject({
      code: "STORE",
      retryable: true,
      message: expect.stringContaining("crashed before the commit was on its disk"),
    });
    expect(await next).toBe("applied");
    expect(await put(store, "c")).toBe("applied");
    await store.close();
  });
});

function quoted(): string {
  return `"${place.schema.replaceAll('"', '""')}"`;
}
