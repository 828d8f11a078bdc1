/** Makes the codec of the coordinator's messages from their .proto files: `src/coordinator/proto/codec.mjs` and its types. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import pbjs from "protobufjs-cli/pbjs.js";

export const protoFolder = fileURLToPath(new URL("../../src/coordinator/proto/", import.meta.url));

const protos = ["coordinator.proto", "health.proto"];
const header =
  "// biome-ignore-all lint: made by a program\n// biome-ignore-all format: made by a program\n" +
  "// biome-ignore-all assist: made by a program\n";
const settings = [
  ["--target", "static-module"],
  ["--wrap", "esm"],
  // A root of its own: codecs of other services in the process must not mix with it.
  ["--root", "percolator-coordinator"],
  ["--force-number", "--es6", "--no-create", "--no-verify", "--no-convert"],
  ["--no-delimited", "--no-typeurl", "--no-service"],
].flat();

export interface Codec {
  readonly code: string;
  readonly types: string;
}

export async function generateCodec(): Promise<Codec> {
  const folder = await mkdtemp(join(tmpdir(), "percolator-codec-"));
  try {
    const sources = protos.map((name) => join(protoFolder, name));
    const code = join(folder, "codec.js");
    // The types are made from comments, which the code then does without.
    await run([...settings, "--dts", "--out", code, ...sources]);
    const types = await readFile(join(folder, "codec.d.ts"), "utf8");
    await run([...settings, "--no-comments", "--out", code, ...sources]);
    return { code: header + (await readFile(code, "utf8")), types: header + withoutLong(types) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** No type here is made of `Long`, and its import is none that a module may have. */
function withoutLong(types: string): string {
  return types.replace(/^import Long = .*\n/m, "");
}

function run(args: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    pbjs.main([...args], (error) => {
      if (error === null || error === undefined) resolve();
      else reject(error);
    });
  });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const { code, types } = await generateCodec();
  await writeFile(join(protoFolder, "codec.mjs"), code);
  await writeFile(join(protoFolder, "codec.d.mts"), types);
}
