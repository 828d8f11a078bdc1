import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { codecOf } from "../../scripts/codec.js";
import { codecs } from "../../scripts/protos.js";

/** Removes what a formatter may change. */
const withoutLayout = (text: string) => text.replaceAll(/[\s,;(){}]/g, "");

test.each([...codecs])("%s matches its .proto files", async (path, source) => {
  expect(withoutLayout(await readFile(path, "utf8"))).toBe(withoutLayout(codecOf(source)));
});
