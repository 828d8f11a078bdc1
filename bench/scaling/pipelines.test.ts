import { expect, test } from "vitest";
import { worksOf } from "./pipelines.js";

test("what computes signatures is measured with each number of functions, in the order of the pipelines", () => {
  expect(worksOf(["webindex", "minhash"], [8, 16])).toEqual([
    { pipeline: "webindex" },
    { pipeline: "minhash", functions: 8 },
    { pipeline: "minhash", functions: 16 },
  ]);
});
