import { expect, test } from "vitest";
import { blocksOf, withBlocks } from "./page.js";

const page = `# Page

By hand.

<!-- figure: first -->
old
<!-- end -->

Between.

<!-- figure: second-one -->
<!-- end -->
`;

test("blocks are found by their markers", () => {
  expect([...blocksOf(page)]).toEqual([
    ["first", "old\n"],
    ["second-one", ""],
  ]);
});

test("only the text between the markers is replaced", () => {
  const changed = withBlocks(
    page,
    new Map([
      ["first", "new $& 1"],
      ["second-one", "new\n\n2"],
    ]),
  );
  expect(changed).toBe(
    page.replace("old\n", () => "new $& 1\n").replace("second-one -->\n", "second-one -->\nnew\n\n2\n"),
  );
  expect(
    withBlocks(
      changed,
      new Map([
        ["first", "old"],
        ["second-one", ""],
      ]),
    ).replace("-->\n\n<!-- end", "-->\n<!-- end"),
  ).toBe(page);
});

test("a figure without a place and a place without a figure are errors", () => {
  expect(() => withBlocks(page, new Map([["first", ""]]))).toThrow("second-one");
  const all = new Map([
    ["first", ""],
    ["second-one", ""],
    ["third", ""],
  ]);
  expect(() => withBlocks(page, all)).toThrow("third");
});
