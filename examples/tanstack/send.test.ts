import { expect, test } from "vitest";
import { type Mutation, sendMutations } from "./send.js";

const insert = (modified: object): readonly Mutation[] => [{ type: "insert", original: {}, modified }];

test("a request has the headers and cookies that the feed's have", async () => {
  const requests: RequestInit[] = [];
  const options = {
    headers: async () => ({ authorization: "Bearer secret" }),
    credentials: "include" as const,
    fetch: async (_: unknown, init?: RequestInit) => {
      requests.push(init!);
      return Response.json({ commitTimestamp: 7 });
    },
  };
  expect(await sendMutations("/write", "notes", insert({ row: "n1", text: "hello" }), options)).toBe(7);
  expect(requests).toEqual([
    {
      method: "POST",
      headers: { authorization: "Bearer secret", "content-type": "application/json" },
      credentials: "include",
      body: JSON.stringify({
        mutations: [{ type: "insert", table: "notes", row: "n1", values: { text: "hello" }, removed: [] }],
      }),
    },
  ]);
});

test("a row whose NaN has not changed can be sent", async () => {
  const bodies: unknown[] = [];
  const options = {
    fetch: async (_: unknown, init?: RequestInit) => {
      bodies.push(JSON.parse(String(init?.body)));
      return Response.json({ commitTimestamp: 7 });
    },
  };
  const original = { row: "n1", ratio: Number.NaN, text: "old" };
  const update: Mutation = { type: "update", original, modified: { ...original, text: "new" } };
  await sendMutations("/write", "notes", [update], options);
  expect(bodies).toMatchObject([{ mutations: [{ values: { text: "new" }, removed: [] }] }]);
});

test("an answer without a commit timestamp is a failure", async () => {
  const options = { fetch: async () => new Response("a login page") };
  await expect(sendMutations("/write", "notes", insert({ row: "n1" }), options)).rejects.toMatchObject({
    code: "HTTP",
    message: "/write answered with the status 200.",
    status: 200,
  });
});

test.each([
  ["a row key", { row: 1n }, "The row key of a mutation of notes cannot be sent as JSON."],
  [
    "a part of a value",
    { row: "n1", text: [{ at: new Date(0) }] },
    'The value of notes.text in the row "n1" cannot be sent as JSON.',
  ],
])("%s that is no JSON is not sent", async (_, modified, message) => {
  const options = { fetch: async () => Response.json({ commitTimestamp: 7 }) };
  await expect(sendMutations("/write", "notes", insert(modified), options)).rejects.toThrow(message);
});
