import { expect, test } from "vitest";
import { describeUse, type Usage, usedBetween } from "./usage.js";

const start: Usage = {
  atMs: 1_000,
  userSeconds: 1,
  systemSeconds: 0.5,
  main: { cpuSeconds: 1, waitedSeconds: 0 },
  loopActiveMs: 100,
  commits: 10,
  store: {
    writeTransactions: 5,
    pagesWritten: 100,
    writeLockWaitMs: 10,
    writeTransactionMs: 50,
    writeFillMs: 40,
    pageWriteMs: 5,
    flushMs: 20,
  },
};
const end: Usage = {
  atMs: 3_000,
  userSeconds: 2.5,
  systemSeconds: 1,
  main: { cpuSeconds: 2, waitedSeconds: 0.5 },
  loopActiveMs: 1_600,
  commits: 510,
  store: {
    writeTransactions: 25,
    pagesWritten: 2_100,
    writeLockWaitMs: 210,
    writeTransactionMs: 650,
    writeFillMs: 440,
    pageWriteMs: 105,
    flushMs: 320,
  },
};

test("use is what was used between two moments", () => {
  const use = usedBetween(start, end);
  expect(use).toEqual({
    seconds: 2,
    userSeconds: 1.5,
    systemSeconds: 0.5,
    main: { cpuSeconds: 1, waitedSeconds: 0.5 },
    loopUtilisation: 0.75,
    writing: {
      transactions: 20,
      commitsPerTransaction: 25,
      pagesPerTransaction: 100,
      lockWaitShare: 0.1,
      openShare: 0.3,
      fillShare: 0.2,
      pageWriteShare: 0.05,
      flushShare: 0.15,
    },
  });
  expect(describeUse(use)).toContain("waiting for the write lock 10 %");
});

test("what the system or the store does not tell is left out", () => {
  const use = usedBetween({ ...start, main: undefined, store: {} }, { ...end, main: undefined, store: {} });
  expect(use.main).toBeUndefined();
  expect(use.writing).toBeUndefined();
  expect(describeUse(use)).toBe("CPU user 1.5 s, system 0.5; event loop busy 75 %");
});

test("where nothing was written there is nothing to divide by", () => {
  expect(usedBetween(start, { ...end, store: start.store }).writing).toMatchObject({
    transactions: 0,
    commitsPerTransaction: 0,
  });
});
