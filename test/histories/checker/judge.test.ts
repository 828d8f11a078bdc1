import { describe, expect, test } from "vitest";
import { judge } from "./judge.js";
import { type Model, models } from "./models.js";
import { history } from "./short-history.js";

describe("the models that a history satisfies", () => {
  const all = Object.keys(models) as Model[];
  test.each([
    { broken: "nothing", text: "0 + [:append 1 1]\n0 ok", holds: all },
    {
      broken: "real time",
      text: "0 + [:append 1 1]\n0 ok\n1 + [:r 1 nil]\n1 ok [:r 1 nil]\n1 + [:r 1 nil]\n1 ok [:r 1 [1]]",
      holds: all.filter((model) => model !== "strong-snapshot-isolation" && model !== "strict-serializable"),
    },
    {
      broken: "sessions",
      text: "0 + [:append 1 1]\n0 ok\n0 + [:r 1 nil]\n0 ok [:r 1 nil]\n1 + [:r 1 nil]\n1 ok [:r 1 [1]]",
      holds: ["snapshot-isolation", "serializable"],
    },
    {
      broken: "serializability",
      text: `0 + [:r 1 nil] [:w 2 1]
             1 + [:r 2 nil] [:w 1 1]
             0 ok [:r 1 nil] [:w 2 1]
             1 ok [:r 2 nil] [:w 1 1]`,
      holds: all.filter((model) => model.includes("snapshot")),
    },
  ])("$broken is broken", ({ text, holds }) => {
    expect(judge(history(text), "strict-serializable").holds).toEqual(holds);
  });
});

test("write skew is allowed under snapshot isolation, but reported", () => {
  const text = `0 + [:r 1 nil] [:w 2 1]
                1 + [:r 2 nil] [:w 1 1]
                0 ok [:r 1 nil] [:w 2 1]
                1 ok [:r 2 nil] [:w 1 1]`;
  const { anomalies, allowed } = judge(history(text), "strong-snapshot-isolation");
  expect(anomalies).toEqual([]);
  expect(allowed).toMatchObject([{ kind: "G2-item", count: 1 }]);
});

describe("a history that breaks the rules of the format", () => {
  test.each([
    ["ends without having begun", "0 ok [:append 1 1]", /Operation 0 ends what process 0 did not begin/],
    ["begins twice", "0 + [:append 1 1]\n0 + [:append 1 2]", /begins while process 0 has another/],
    [
      "goes on after an info",
      "0 + [:append 1 1]\n0 info\n0 + [:append 1 2]",
      /begins after an info of process 0/,
    ],
    ["ends as another", "0 + [:append 1 1]\n0 ok [:append 1 2]", /is not what process 0 began/],
    ["writes a value twice", "0 + [:w 1 1]\n0 ok\n0 + [:w 1 1]", /writes 1 to key 1 again/],
  ])("%s", (_, text, message) => {
    expect(() => judge(history(text), "serializable")).toThrow(message);
  });
});
