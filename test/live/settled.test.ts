import { observer } from "percolatordb";
import { describe, expect, test } from "vitest";
import { engines, withTwo } from "../support/databases.js";
import { cells, chain, commit, copy, failureOf, listed, parkedOf, read, stuck } from "../support/settling.js";
import { patienceMs } from "../support/waiting.js";

describe.each(engines)("db.settled on $store, $commit", (variant) => {
  test("waits for chains of observers, also the first call, and with a worker in another process", async () => {
    await withTwo(variant, { observers: chain }, async (one, other) => {
      await using _ = other.work();
      for (let value = 1; value <= 3; value++) {
        await one.settled(await commit(one, (tx) => tx.set(cells.a, "r", value)));
        expect(await read(one, cells.d, "r")).toBe(value);
        await one.settled(await commit(other, (tx) => tx.set(cells.a, "s", value)));
        expect(await read(one, cells.d, "s")).toBe(value);
      }
      expect(await one.check()).toEqual([]);
    });
  });

  test("waits for wide changes, and for changes that one run handles together", async () => {
    const rows = Array.from({ length: 100 }, (_, index) => `row ${index}`);
    const spread = observer("spread", cells.count, (tx, { value }) => {
      for (const row of rows) tx.set(cells.a, row, value!);
    });
    await withTwo(variant, { observers: [spread, ...chain] }, async (one, other) => {
      await using _ = other.work();
      await one.settled(await commit(one, (tx) => tx.set(cells.count, "all", 1)));
      await using first = await one.snapshot();
      const found = await first.getMany(cells.d, rows);
      expect([...found.values()]).toEqual(rows.map(() => 1));
      const commits = await Promise.all(
        [2, 3, 4, 5].map((value) =>
          commit(value % 2 === 0 ? one : other, (tx) => tx.set(cells.a, "row 0", value)),
        ),
      );
      for (const each of commits) {
        await one.settled(each);
        const derived = await one.history(cells.d, "row 0");
        expect(derived.some(({ commitTimestamp }) => commitTimestamp > each)).toBe(true);
      }
      const last = (await one.history(cells.a, "row 0"))[0]!;
      await one.settled(Math.max(...commits));
      expect(await read(one, cells.d, "row 0")).toBe(last.value);
    });
  });

  test("waits for a cycle of observers until it ends", async () => {
    const halve = observer("halve", cells.count, (tx, { row, value }) => {
      if (value! > 1) tx.set(cells.count, row, Math.floor(value! / 2));
    });
    const there = observer("there", cells.a, (tx, { row, value }) => {
      if (value! < 6) tx.set(cells.b, row, value! + 1);
    });
    const back = copy("back", cells.b, cells.a);
    await withTwo(variant, { observers: [halve, there, back] }, async (one, other) => {
      await using _ = other.work();
      await one.settled(await commit(one, (tx) => tx.set(cells.count, "r", 40)));
      expect(await read(one, cells.count, "r")).toBe(1);
      await one.settled(await commit(one, (tx) => tx.set(cells.a, "r", 1)));
      expect(await read(one, cells.a, "r")).toBe(6);
    });
  });

  test("does not wait for other work, however long that is stuck", async () => {
    const hanging = stuck("hanging", cells.other);
    const observers = [...chain, hanging.observer];
    await withTwo(variant, { observers }, async (one, other) => {
      await commit(one, (tx) => tx.set(cells.other, "before", 1));
      await using _ = other.work();
      const first = await commit(one, (tx) => tx.set(cells.a, "r", 1));
      await commit(one, (tx) => tx.set(cells.other, "after", 1));
      await one.settled(first, { observers: chain });
      for (let value = 2; value <= 3; value++) {
        const each = await commit(one, (tx) => tx.set(cells.a, "r", value));
        await commit(other, (tx) => tx.set(cells.other, "again", value));
        await one.settled(each);
        expect(await read(one, cells.d, "r")).toBe(value);
      }
      hanging.letGo();
    });
  });

  test("rejects if something is parked, and resolves after a retry or a discard", async () => {
    let isBroken = true;
    const failing = observer(
      "failing",
      cells.b,
      (tx, { row, value }) => {
        if (isBroken) throw new Error("out of order");
        tx.set(cells.c, row, value!);
      },
      { attempts: 1 },
    );
    const observers = [chain[0]!, failing, chain[2]!];
    await withTwo(variant, { observers }, async (one, other) => {
      await using _ = other.work();
      // With the feed from the beginning, and on the last round with a feed that was just declared.
      for (const row of ["first", "second", "third"]) {
        isBroken = true;
        const each = await commit(one, (tx) => tx.set(cells.a, row, 1));
        const error = await parkedOf(one.settled(each));
        expect(error.code).toBe("DERIVATION_FAILED");
        expect(error.message).toContain(`"failing" on cells.b, row "${row}" (out of order)`);
        expect(error.parked).toEqual([
          {
            observer: "failing",
            table: "cells",
            row,
            column: "b",
            qualifier: undefined,
            error: "out of order",
          },
        ]);
        expect((await failureOf(one.settled(each))).code).toBe("DERIVATION_FAILED");
        isBroken = false;
        const [parked] = await listed(one.parked());
        if (row === "second") {
          expect(await one.discard(parked!)).toBe(true);
          await one.settled(each);
          expect(await read(one, cells.d, row)).toBeUndefined();
          continue;
        }
        expect(await one.retry(parked!)).toBe(true);
        await one.settled(each);
        expect(await read(one, cells.d, row)).toBe(1);
      }
    });
  });

  test("waits for signals, also those of transactions that write nothing", async () => {
    let runs = 0;
    // On a signal, a run may come more than once for each notification, so the test does not count them.
    const onPing = observer("on-ping", cells.ping, async (tx, { row }) => {
      runs++;
      const seen = [cells.a, cells.b, cells.c].map(async (column) => (await tx.get(column, row)) ?? 0);
      const sum = (await Promise.all(seen)).reduce((total, value) => total + value, 0);
      if (sum !== (await tx.get(cells.count, row))) tx.set(cells.count, row, sum);
    });
    const relay = observer("relay", cells.other, (tx, { row, value }) => {
      tx.set(cells.b, row, value!);
      tx.notify(cells.ping, row);
    });
    const echo = observer("echo", cells.echo, (tx, { row }) => {
      tx.set(cells.c, row, 1_000);
      tx.notify(cells.ping, row);
    });
    await withTwo(variant, { observers: [onPing, relay, echo] }, async (one, other) => {
      await using _ = other.work();
      const settledCount = async (each: number) => {
        await one.settled(each);
        return read(one, cells.count, "r");
      };
      const ping = (value: number) =>
        commit(one, (tx) => {
          tx.set(cells.a, "r", value);
          tx.notify(cells.ping, "r");
        });
      expect(await settledCount(await ping(1))).toBe(1);
      expect(await settledCount(await ping(2))).toBe(2);
      expect(await settledCount(await commit(one, (tx) => tx.set(cells.other, "r", 10)))).toBe(12);
      expect(await settledCount(await commit(other, (tx) => tx.notify(cells.echo, "r")))).toBe(1_012);
      // The run writes nothing, and is seen all the same.
      const before = runs;
      const each = await commit(other, (tx) => tx.notify(cells.ping, "r"));
      expect(await settledCount(each)).toBe(1_012);
      expect(runs).toBeGreaterThan(before);
      expect(await one.check()).toEqual([]);
    });
  });

  test("resolves at once if nothing observed was changed", async () => {
    const hanging = stuck("hanging", cells.other);
    await withTwo(variant, { observers: [hanging.observer] }, async (one, other) => {
      await using _ = other.work();
      await commit(one, (tx) => tx.set(cells.other, "r", 1));
      await one.settled(await commit(one, (tx) => tx.set(cells.a, "r", 1)));
      await one.settled(await commit(one, (tx) => tx.set(cells.a, "r", 2)));
      await one.settled(await commit(other, (tx) => tx.set(cells.a, "r", 3)));
      await one.settled(await commit(one, () => {}));
      await one.settled(undefined);
      hanging.letGo();
    });
  });

  test("leaves out observers, and follows all others that stand between", async () => {
    const hanging = stuck("hanging", cells.b);
    const failing = observer("failing", cells.a, () => Promise.reject(new Error("no")), { attempts: 1 });
    await withTwo(variant, { observers: [...chain, hanging.observer, failing] }, async (one, other) => {
      const except = [hanging.observer, "failing"];
      // This commit is older than the feed.
      const first = await commit(one, (tx) => tx.set(cells.a, "r", 1));
      await using _ = other.work();
      await one.settled(await commit(one, (tx) => tx.set(cells.a, "s", 1)), { except });
      expect(await read(one, cells.d, "s")).toBe(1);
      const each = await commit(one, (tx) => tx.set(cells.a, "t", 2));
      await one.settled(each, { except });
      expect(await read(one, cells.d, "t")).toBe(2);
      await one.settled(first, { except });
      expect(await read(one, cells.d, "r")).toBe(1);
      // What is left out of a named path is not waited for, though it hangs.
      await one.settled(each, { observers: ["a-to-b", "hanging"], except });
      const { parked } = await parkedOf(one.settled(each, { except: ["hanging"] }));
      expect(parked.map((change) => change.observer)).toEqual(["failing"]);
      expect((await failureOf(one.settled(each, { except: ["nobody"] }))).message).toContain("nobody");
      hanging.letGo();
    });
  });

  test("names what is due when its time is over, and can be aborted", async () => {
    const hanging = stuck("hanging", cells.b);
    await withTwo(variant, { observers: [chain[0]!, hanging.observer] }, async (one, other) => {
      await using worker = other.work();
      const each = await commit(one, (tx) => tx.set(cells.a, "r", 1));
      await one.settled(each, { observers: ["a-to-b"] });
      // On a busy machine, it takes a while until the call knows what is due.
      let late = await failureOf(one.settled(each, { timeoutMs: 100 }));
      for (let timeoutMs = 200; timeoutMs < patienceMs && !late.message.includes("Due: "); timeoutMs *= 2) {
        late = await failureOf(one.settled(each, { timeoutMs }));
      }
      expect(late.code).toBe("TIMEOUT");
      expect(late.message).toContain('Due: "hanging" on cells/r/b');
      const controller = new AbortController();
      const waiting = failureOf(one.settled(each, { signal: controller.signal }));
      controller.abort();
      expect((await waiting).code).toBe("ABORTED");
      hanging.letGo();
      await one.settled(each);
      await worker.stop();
    });
  });
});
