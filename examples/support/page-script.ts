import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

/** A script in a page. */
export interface PageScript {
  readonly source: string;
  /** Names it in a content security policy, which then allows no other script. */
  readonly hash: string;
}

/** Makes one script of a module for browsers and all that it imports. */
export async function pageScript(module: URL): Promise<PageScript> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(module)],
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    target: "es2022",
    charset: "ascii",
    tsconfig: fileURLToPath(new URL("../../tsconfig.json", import.meta.url)),
  });
  // The hash is that of the text between the tags, so it must be as it is sent. esbuild escapes `</script`.
  const source = outputFiles[0]!.text;
  return { source, hash: `sha256-${createHash("sha256").update(source).digest("base64")}` };
}
