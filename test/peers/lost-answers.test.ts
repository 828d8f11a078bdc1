import { answerLost, type Interference, Pause, repeated, requestLost } from "percolatordb/testing";
import { describe, expect, test } from "vitest";
import { accounts } from "./bank.js";
import { casesOn, dies, diesAfter, lockTtlMs, onePhase, outcomeOf, twoPhase } from "./cluster.js";
import { copied, expectSettled, interfere, points, readBoth, startWith, writeBoth } from "./failures.js";

/**
 * For each request of a commit: its answer is lost, or the request itself is lost, is applied
 * twice, or arrives after everything is over. The caller gets the true outcome, and never
 * "conflict" for a committed transaction.
 */

/** Steps that ask something and change nothing. If they get no answer, they fail. */
const asking = new Set(["commit-timestamp", "validate"]);

/** Answers that the request was lost, and delivers it later on demand. */
class Late {
  deliver: () => Promise<unknown> = async () => undefined;

  readonly interference: Interference = async (run) => {
    this.deliver = run;
    return "unknown";
  };
}

describe.each(twoPhase)("$store, commit $commit", (variant) => {
  test.each(casesOn(variant, points))("the answer to $name is lost", async (point) => {
    const { cluster, owner, other } = await startWith(variant);
    await using _ = cluster;
    interfere(owner, point, answerLost);
    const fails = asking.has(point.step);
    expect(await outcomeOf(writeBoth(owner, point.isolation))).toBe(fails ? "STORE" : "committed");
    expect(await readBoth(other)).toEqual(fails ? [1, 2] : [11, 12]);
    await cluster.clock.settle();
    await expectSettled(cluster, other, fails ? [1, 2] : [11, 12]);
  });

  test.each(casesOn(variant, points))("the request for $name is lost", async (point) => {
    const { cluster, owner, other } = await startWith(variant);
    await using _ = cluster;
    interfere(owner, point, requestLost);
    const expected = asking.has(point.step) || point.step === "commit-primary" ? "STORE" : "committed";
    expect(await outcomeOf(writeBoth(owner, point.isolation))).toBe(expected);
    const balances = expected === "committed" ? [11, 12] : [1, 2];
    expect(await readBoth(other)).toEqual(balances);
    await expectSettled(cluster, other, balances);
  });

  test.each(casesOn(variant, points))("the request for $name is applied twice", async (point) => {
    const { cluster, owner, other } = await startWith(variant);
    await using _ = cluster;
    const before = copied(other);
    interfere(owner, point, repeated);
    expect(await outcomeOf(writeBoth(owner, point.isolation))).toBe("committed");
    expect(await readBoth(other)).toEqual([11, 12]);
    await expectSettled(cluster, other, [11, 12]);
    expect(copied(other) - before).toBe(2);
    expect((await other.db.history(accounts.balance, "bob")).map(({ value }) => value)).toEqual([12, 2]);
  });

  test.each(
    casesOn(
      variant,
      points.filter(({ step }) => !asking.has(step)),
    ),
  )("the request for $name arrives after the transaction is over", async (point) => {
    const { cluster, owner, other } = await startWith(variant);
    await using _ = cluster;
    const late = new Late();
    interfere(owner, point, late.interference);
    const outcome = await outcomeOf(writeBoth(owner, point.isolation));
    expect(outcome).toBe(point.step === "commit-primary" ? "STORE" : "committed");
    const balances = outcome === "committed" ? [11, 12] : [1, 2];
    await expectSettled(cluster, other, balances);
    // An extra hint is harmless: a worker finds no change for it. A store that takes secondaries in
    // bulk, without guards, writes the same write record again. A guard refuses every other late request.
    const isAgain = point.step === "commit-secondary" && variant.store === "bigtable";
    const isHarmless = point.step === "hints" || isAgain;
    expect(await late.deliver()).toBe(isHarmless ? "applied" : "rejected");
    const before = copied(other);
    await expectSettled(cluster, other, balances);
    expect(copied(other)).toBe(before);
  });

  test.each(["prewrite", "hints"] as const)(
    "if a %s is never answered, the whole transaction fails",
    async (step) => {
      const { cluster, owner, other } = await startWith(variant);
      await using _ = cluster;
      for (let times = 0; times < 20; times++)
        owner.hooks.once(step, times % 2 === 0 ? answerLost : requestLost);
      expect(await outcomeOf(writeBoth(owner))).toBe("STORE");
      await expectSettled(cluster, other, [1, 2]);
    },
  );

  test("a prewrite that arrives after its transaction was abandoned is refused by its guards", async () => {
    const { cluster, owner, other } = await startWith(variant);
    await using _ = cluster;
    const requests: (() => Promise<unknown>)[] = [];
    for (let times = 0; times < 10; times++) {
      owner.hooks.once("prewrite", async (run) => {
        requests.push(run);
        return "unknown";
      });
    }
    expect(await outcomeOf(writeBoth(owner))).toBe("STORE");
    const [primary] = requests;
    expect(await primary?.()).toBe("rejected");
    for (const request of requests.slice(1)) await request();
    // The secondary's prewrite may have been applied. A transaction that meets its lock finds the
    // primary rolled back.
    await cluster.clock.advance(2 * lockTtlMs);
    await expectSettled(cluster, other, [1, 2]);
  });
});

describe.each(onePhase)("$store, commit $commit: one phase", (variant) => {
  test.each([
    { name: "before", interference: dies, balances: [1, 2] },
    { name: "after", interference: diesAfter, balances: [11, 12] },
  ])(
    "a process dies $name its commit: all of it is there or nothing, at once",
    async ({ interference, balances }) => {
      const { cluster, owner, other } = await startWith(variant);
      await using _ = cluster;
      owner.hooks.once("one-phase-commit", interference(owner));
      void writeBoth(owner);
      while (!owner.environment.isDead) await cluster.clock.settle();
      const startedAt = cluster.clock.passedMs;
      expect(await readBoth(other)).toEqual(balances);
      await other.db.transact((tx) => tx.set(accounts.balance, "bob", 60));
      expect(cluster.clock.passedMs).toBe(startedAt);
      await expectSettled(cluster, other, [balances[0]!, 60]);
    },
  );

  test.each([
    { name: "answer", interference: answerLost, balances: [11, 12] },
    { name: "request", interference: requestLost, balances: [1, 2] },
  ])(
    "the $name is lost: the caller is told that the outcome is unknown",
    async ({ interference, balances }) => {
      const { cluster, owner, other } = await startWith(variant);
      await using _ = cluster;
      owner.hooks.once("one-phase-commit", interference);
      expect(await outcomeOf(writeBoth(owner))).toBe("COMMIT_OUTCOME_UNKNOWN");
      expect(await readBoth(other)).toEqual(balances);
      await expectSettled(cluster, other, balances);
    },
  );

  test("a transaction with an unknown outcome is not retried automatically", async () => {
    const { cluster, owner, other } = await startWith(variant);
    await using _ = cluster;
    owner.hooks.once("one-phase-commit", answerLost);
    const adding = owner.db.transact(async (tx) => {
      tx.set(accounts.balance, "alice", (await tx.get(accounts.balance, "alice"))! + 5);
    });
    expect(await outcomeOf(adding)).toBe("COMMIT_OUTCOME_UNKNOWN");
    await expectSettled(cluster, other, [6, 2]);
  });

  test("a batch that is applied twice is refused the second time", async () => {
    const { cluster, owner, other } = await startWith(variant);
    await using _ = cluster;
    const before = copied(other);
    let second: unknown;
    owner.hooks.once("one-phase-commit", async (run) => {
      const first = await run();
      second = await run();
      return first;
    });
    expect(await outcomeOf(writeBoth(owner))).toBe("committed");
    expect(second).toMatchObject({ answer: "rejected" });
    await expectSettled(cluster, other, [11, 12]);
    expect(copied(other) - before).toBe(2);
    expect((await other.db.history(accounts.balance, "bob")).map(({ value }) => value)).toEqual([12, 2]);
  });

  test("a slow commit blocks no other transaction, and conflicts with a faster one", async () => {
    const { cluster, owner, other } = await startWith(variant);
    await using _ = cluster;
    const pause = new Pause();
    owner.hooks.once("one-phase-commit", pause.before);
    const committing = outcomeOf(writeBoth(owner));
    await pause.reached;
    expect(await readBoth(other)).toEqual([1, 2]);
    await other.db.transact((tx) => tx.set(accounts.balance, "bob", 60));
    await other.db.drain();
    pause.resume();
    expect(await committing).toBe("CONFLICT");
    await expectSettled(cluster, other, [1, 60]);
  });
});
