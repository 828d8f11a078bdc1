import { expect, test } from "vitest";
import type { Guard } from "../../mutation.js";
import { Group } from "./group.js";
import { Request } from "./request.js";

const name = (text: string) => Buffer.from(text);
const guard = (column: string): Guard => {
  return { type: "absent", column: name(column), part: "lock", from: 0, to: Number.POSITIVE_INFINITY };
};
const range = {
  table: "t",
  columns: [{ exact: name("a") }],
  absent: [{ part: "write", from: 1, to: 2 }],
} as const;

/** The answer to a transaction of two rows, with two guards and one, and two ranges. */
function answerTo(...failed: number[]) {
  const rows = [
    { table: "t", row: name("x"), guards: [guard("a"), guard("b")], mutations: [] },
    { table: "t", row: name("y"), guards: [guard("a")], mutations: [] },
  ];
  const group = new Group({ known: () => 1 });
  group.add(new Request({ rows, ranges: [range, range], counts: false }, undefined, 0));
  return group.answers({ firstTimestamp: 1, failed: failed.map((at) => ({ request: 0, at })) })[0];
}

const [firstRow, secondRow] = [
  { answer: "rejected", row: 0, guard: 1 },
  { answer: "rejected", row: 1, guard: 0 },
];
const [firstRange, secondRange] = [
  { answer: "rejected", range: 0 },
  { answer: "rejected", range: 1 },
];

test.each([
  { failed: [1, 2], answer: firstRow },
  { failed: [2, -1], answer: secondRow },
  { failed: [-1, -2], answer: firstRange },
  { failed: [-2], answer: secondRange },
])(
  "of the failed guards $failed the first is answered, and a row's before a range's",
  ({ failed, answer }) => {
    expect(answerTo(...failed)).toEqual(answer);
    expect(answerTo(...failed.toReversed())).toEqual(answer);
  },
);
