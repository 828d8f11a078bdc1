import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { builtLibrary } from "../../../test/support/built/library.js";
import { CommandLine } from "../../../test/support/command-line.js";
import { definition } from "../../schema/index.js";
import { UsageError } from "../usage-error.js";
import { loadApp, syntaxErrorPlace } from "./module.js";

const loader = JSON.stringify(fileURLToPath(new URL("module.ts", import.meta.url)));
const library = JSON.stringify(builtLibrary().index);

/**
 * A module of two files. Its TypeScript needs a compiler: removing the types is not enough to run
 * it.
 */
const files = (extension: string) => ({
  [`schema.${extension}`]: `
    import { table, text } from ${library};
    export enum Column { Title = "title" }
    export const documents = table("documents", { [Column.Title]: text() });
  `,
  [`app.${extension}`]: `
    import { observer } from ${library};
    import { documents } from "./schema.${extension.replace("ts", "js")}";
    const ready: boolean = await Promise.resolve(true);
    export default { tables: [documents], observers: ready ? [observer("titles", documents.title, () => {})] : [] };
  `,
});

describe("a module", () => {
  it.each(["ts", "mts"])("may be TypeScript, with another copy of the package: .%s", async (extension) => {
    const folder = await commandLine(files(extension));
    const { tables, observers } = await loadApp(`app.${extension}`, folder);
    expect(tables.map((table) => table[definition].name)).toEqual(["documents"]);
    expect(observers.map(({ name }) => name)).toEqual(["titles"]);
  });

  it.each([
    ["a.mjs", "export default { tables: [], observers: [] };", "at least one"],
    ["b.mjs", "export const tables = [];", "must default-export"],
    ["c.mjs", "export default { tables: {} };", "`tables` must be an array"],
    ["d.mjs", "export default { tables: [{}] };", "`tables[0]` is an object"],
    ["e.mjs", "export default { observers: [() => {}] };", "`observers[0]` is a function"],
    ["f.mjs", "throw new Error('broken');", "could not be loaded: Error: broken"],
    ["g.ts", "import './missing.js'; export default {};", "could not be loaded"],
    ["h.ts", "const x: = 5;", "could not be loaded"],
  ])("with invalid contents is refused: %s %s", async (name, text, message) => {
    const folder = await commandLine({ [name]: text });
    const failure = await loadApp(name, folder).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(UsageError);
    expect((failure as UsageError).message).toContain(message);
  });

  it.each([
    ["k.ts", "const a = 1;\nthrow new Error('broken' + a);", "k.ts:2"],
    ["l.ts", "import './missing.js'; export default {};", "missing.js"],
  ])(
    "that fails to load is refused with the place, and no more of the stack: %s",
    async (name, text, place) => {
      const folder = await commandLine({ [name]: text });
      const { message } = (await loadApp(name, folder).catch((error: unknown) => error)) as UsageError;
      expect(message).toContain(place);
      expect(message).not.toMatch(/node:internal|jiti|cli[\\/]/);
    },
  );

  it.each([
    ["i.mjs", "import './inner.mjs';", "inner.mjs:2"],
    ["j.mjs", "const a = 1;\nexport default { tables: [ };", "j.mjs:2"],
    ["k.mjs", "export default {};", undefined],
  ])("that cannot be parsed: Node is asked for the place: %s", async (name, text, place) => {
    const folder = await commandLine({ [name]: text, "inner.mjs": "\nexport default { ;" });
    expect(syntaxErrorPlace(join(folder, name))?.split("/").at(-1)).toBe(place);
  });

  it("that awaits endlessly without keeping the process alive is refused", async () => {
    const folder = await commandLine({ "m.mjs": "await new Promise(() => {});" });
    const program = `
      import { loadApp } from ${loader};
      await loadApp("m.mjs", ${JSON.stringify(folder)}).catch(({ message }) => console.log(message));
    `;
    const args = ["--import", "tsx", "--input-type=module", "--eval", program];
    const { status, stdout } = spawnSync(process.execPath, args, { encoding: "utf8" });
    expect(stdout).toContain(
      "The module m.mjs could not be loaded: An `await` at its top level never settles.",
    );
    expect(status).toBe(0);
  });

  it("must exist, and be a file", async () => {
    const folder = await commandLine({});
    await expect(loadApp("nothing.ts", folder)).rejects.toThrow("There is no module nothing.ts");
    await expect(loadApp(".", folder)).rejects.toThrow(UsageError);
  });
});

async function commandLine(texts: Readonly<Record<string, string>>) {
  const cli = await CommandLine.create();
  for (const [name, text] of Object.entries(texts)) await cli.write(name, text);
  return cli.folder;
}
