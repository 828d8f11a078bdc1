import { describe, expect, test } from "vitest";
import { StoreError } from "../../errors/index.js";
import type {
  MutationAnswer,
  RowMutation,
  StoreCapabilities,
  StoreRequestOptions,
} from "../../store/index.js";
import { memoryStore } from "../../store/memory/index.js";
import { JoiningStore } from "./joined-mutations.js";

/** Puts a column if it does not exist. */
function put(row: string, column: string, value = "v"): RowMutation {
  const bytes = Buffer.from(column);
  return {
    table: "t",
    row: Buffer.from(row),
    guards: [{ type: "absent", column: bytes, part: "lock", from: 0, to: Number.POSITIVE_INFINITY }],
    mutations: [{ type: "put", column: bytes, part: "lock", timestamp: 1, value: Buffer.from(value) }],
  };
}

interface Sent {
  readonly signal: AbortSignal | undefined;
  readonly columns: string;
  answer(answer: MutationAnswer | Error): void;
}

/** A store that the test answers for. */
function openStore(mutationCells = 100, more: Partial<StoreCapabilities> = {}) {
  const sent: Sent[] = [];
  const mutate = (mutation: RowMutation, options?: StoreRequestOptions) =>
    new Promise<MutationAnswer>((resolve, reject) => {
      sent.push({
        signal: options?.signal,
        columns: mutation.mutations.map(({ column }) => Buffer.from(column)).join(" "),
        answer: (answer) => (answer instanceof Error ? reject(answer) : resolve(answer)),
      });
    });
  const capabilities = {
    atomicBatches: false,
    reverseScans: true,
    mutationCells,
    inlineBytes: 64,
    durable: false,
    shared: false,
    ...more,
  };
  return { sent, joined: new JoiningStore(Object.assign(memoryStore(), { capabilities, mutate })) };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Requests puts of some columns of a row after another request for it was sent. */
async function behindAnother(store: ReturnType<typeof openStore>, puts: readonly RowMutation[]) {
  const first = store.joined.mutate(put("x", "first"));
  await turn();
  const answers = puts.map((each) => store.joined.mutate(each));
  await turn();
  expect(store.sent.map(({ columns }) => columns)).toEqual(["first"]);
  store.sent[0]!.answer("applied");
  expect(await first).toBe("applied");
  await turn();
  store.sent.splice(0, 1);
  return Promise.all(answers);
}

describe("guarded mutations of one row", () => {
  test("are sent alone, with their signal, if they can be aborted", async () => {
    const store = openStore();
    const { signal } = new AbortController();
    const answers = [store.joined.mutate(put("x", "a")), store.joined.mutate(put("x", "b"), { signal })];
    await turn();
    expect(store.sent.map((each) => [each.columns, each.signal])).toEqual([
      ["b", signal],
      ["a", undefined],
    ]);
    for (const { answer } of store.sent) answer("applied");
    expect(await Promise.all(answers)).toEqual(["applied", "applied"]);
  });

  test("are sent together if they are of one tick", async () => {
    const { sent, joined } = openStore();
    const answers = ["a", "b"].map((column) => joined.mutate(put("x", column)));
    await turn();
    expect(sent.map(({ columns }) => columns)).toEqual(["a b"]);
    sent[0]!.answer("applied");
    expect(await Promise.all(answers)).toEqual(["applied", "applied"]);
  });

  test("are sent together if they arrive while one is running", async () => {
    const store = openStore();
    const answers = behindAnother(store, [put("x", "b"), put("x", "c")]);
    await until(() => store.sent[0]?.columns === "b c");
    store.sent[0]!.answer("applied");
    expect(await answers).toEqual(["applied", "applied"]);
  });

  test("are sent alone if any guard did not hold, or the joined mutation could not be sent", async () => {
    for (const refusal of ["rejected", new StoreError("too large")] as const) {
      const { sent, joined } = openStore();
      const answers = ["a", "b"].map((column) => joined.mutate(put("x", column)));
      await turn();
      sent[0]!.answer(refusal);
      await turn();
      expect(sent.map(({ columns }) => columns)).toEqual(["a b", "a", "b"]);
      sent[1]!.answer("rejected");
      sent[2]!.answer("applied");
      expect(await Promise.all(answers)).toEqual(["rejected", "applied"]);
    }
  });

  test("are all unknown if there was no answer", async () => {
    const { sent, joined } = openStore();
    const answers = ["a", "b"].map((column) => joined.mutate(put("x", column)));
    await turn();
    sent[0]!.answer("unknown");
    expect(await Promise.all(answers)).toEqual(["unknown", "unknown"]);
    expect(sent.length).toBe(1);
  });

  test("fail alone, and do not delay others", async () => {
    const { sent, joined } = openStore();
    const first = joined.mutate(put("x", "a"));
    await turn();
    const second = joined.mutate(put("x", "b"));
    sent[0]!.answer(new StoreError("closed"));
    await expect(first).rejects.toThrow("closed");
    await turn();
    sent[1]!.answer("applied");
    expect(await second).toBe("applied");
  });

  test("do not wait for one of the same column, which may change the result of their guards", async () => {
    const { sent, joined } = openStore();
    const answers = ["a", "a", "b", "b"].map((column) => joined.mutate(put("x", column)));
    await turn();
    expect(sent.map(({ columns }) => columns)).toEqual(["a", "b", "a b"]);
    for (const each of sent) each.answer("applied");
    expect(await Promise.all(answers)).toEqual(["applied", "applied", "applied", "applied"]);
  });

  test("are limited in cells, and a wide one waits for no other", async () => {
    const { sent, joined } = openStore(4);
    const answers = ["a", "b", "c"].map((column) => joined.mutate(put("x", column)));
    await turn();
    sent[0]!.answer("applied");
    await turn();
    expect(sent.map(({ columns }) => columns)).toEqual(["a b", "c"]);
    sent[1]!.answer("applied");
    await Promise.all(answers);

    const narrow = openStore(3);
    const all = ["a", "b"].map((column) => narrow.joined.mutate(put("x", column)));
    expect(narrow.sent.length).toBe(2);
    for (const each of narrow.sent) each.answer("applied");
    await Promise.all(all);
  });

  test("are limited in the bytes of their guards", async () => {
    const { sent, joined } = openStore(100, { guardBytes: 2 * 65 });
    const answers = ["a", "b", "c"].map((column) => joined.mutate(put("x", column)));
    await turn();
    sent[0]!.answer("applied");
    await turn();
    expect(sent.map(({ columns }) => columns)).toEqual(["a b", "c"]);
    sent[1]!.answer("applied");
    await Promise.all(answers);
  });

  test("are of one kind if the store does not accept mixed kinds", async () => {
    const { sent, joined } = openStore(100, { mixedGuards: false });
    const present: RowMutation = {
      ...put("x", "b"),
      guards: [{ type: "present", column: Buffer.from("b"), part: "lock", at: 1 }],
    };
    const answers = [put("x", "a"), put("x", "c"), present].map((each) => joined.mutate(each));
    await turn();
    sent[0]!.answer("applied");
    await turn();
    expect(sent.map(({ columns }) => columns)).toEqual(["a c", "b"]);
    sent[1]!.answer("applied");
    await Promise.all(answers);
  });

  test("are limited in bytes", async () => {
    const { sent, joined } = openStore();
    const large = "v".repeat(700_000);
    const answers = ["a", "b"].map((column) => joined.mutate(put("x", column, large)));
    await turn();
    expect(sent.map(({ columns }) => columns)).toEqual(["a"]);
    sent[0]!.answer("applied");
    await turn();
    sent[1]!.answer("applied");
    await Promise.all(answers);
  });
});

test("mutations of other rows, and those without guards, do not wait", async () => {
  const { sent, joined } = openStore();
  const first = joined.mutate(put("x", "a"));
  await turn();
  const answers = [joined.mutate(put("y", "b")), joined.mutate({ ...put("x", "c"), guards: [] })];
  await turn();
  expect(sent.map(({ columns }) => columns).sort()).toEqual(["a", "b", "c"]);
  for (const each of sent) each.answer("applied");
  await Promise.all([first, ...answers]);
});

test("a row without running requests is forgotten", async () => {
  const { sent, joined } = openStore();
  for (const column of ["a", "b", "a"]) {
    const answer = joined.mutate(put("x", column));
    await turn();
    sent.at(-1)!.answer("applied");
    expect(await answer).toBe("applied");
    await turn();
  }
  expect(sent.map(({ columns }) => columns)).toEqual(["a", "b", "a"]);
});

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await turn();
}
