import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { generateCodec, protoFolder } from "./generate-codec.js";

test("the codec is what its .proto files give", async () => {
  const { code, types } = await generateCodec();
  expect(code).toBe(await readFile(join(protoFolder, "codec.mjs"), "utf8"));
  expect(types).toBe(await readFile(join(protoFolder, "codec.d.mts"), "utf8"));
});
