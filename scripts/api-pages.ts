import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  Application,
  type DeclarationReflection,
  type ProjectReflection,
  type TypeDocOptions,
} from "typedoc";
import type { PluginOptions } from "typedoc-plugin-markdown";

/**
 * Writes the API pages of the site, `docs/api/`, from the code: for every entry point in
 * package.json, each exported name with its doc comment. Run `npm run docs:api`. The pages are not
 * in the repository.
 */

const root = fileURLToPath(new URL("../", import.meta.url));
const out = join(root, "docs", "api");

interface Entry {
  /** The name with which a program imports it. */
  readonly specifier: string;
  readonly source: string;
}

/** The purpose of each entry point, in the order of the pages. */
const about: Readonly<Record<string, string>> = {
  percolatordb: "Opening databases; tables, transactions, observers, snapshots, errors, metrics.",
  "percolatordb/recipes": "Queues, indexes, constraints, schedules and rate limits, made of the public API.",
  "percolatordb/live": "Live queries and change feeds over HTTP.",
  "percolatordb/live/client": "The client of live queries and change feeds, for browsers and Node.",
  "percolatordb/live/react": "Live queries in components of React.",
  "percolatordb/live/preact": "Live queries in components of Preact.",
  "percolatordb/testing":
    "Time that a test moves, steps, faults, recorded histories, simulation, exploration.",
  "percolatordb/dashboard": "The dashboard and the metrics, inside a program of your own.",
  "percolatordb/store": "What a store is made of, for those who write one.",
  "percolatordb/memory": "The store in memory, for tests.",
  "percolatordb/lmdb": "The embedded store: a folder.",
  "percolatordb/backup": "Backups of a folder that is in use, and their restore.",
  "percolatordb/postgres": "The store on PostgreSQL, and what connects a database there with SQL.",
  "percolatordb/bigtable": "The store on Google Cloud Bigtable.",
  "percolatordb/coordinator": "The service of a cluster: timestamps, sessions and claims.",
};

/** Returns the entry points of package.json, with their source files. */
async function entries(): Promise<readonly Entry[]> {
  const manifest = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as {
    readonly name: string;
    readonly exports: Readonly<Record<string, string | { readonly types: string }>>;
  };
  const found = Object.entries(manifest.exports).flatMap(([path, target]) => {
    if (typeof target === "string") return [];
    const source = target.types.replace("./dist/", "src/").replace(/\.d\.ts$/, ".ts");
    return { specifier: `${manifest.name}${path.slice(1)}`, source };
  });
  const order = Object.keys(about);
  const place = ({ specifier }: Entry) => order.indexOf(specifier);
  const untold = found.find(({ specifier }) => about[specifier] === undefined);
  if (untold !== undefined) throw new Error(`${untold.specifier}: say above what it is for.`);
  return found.sort((a, b) => place(a) - place(b));
}

const options = {
  plugin: ["typedoc-plugin-markdown"],
  tsconfig: join(root, "tsconfig.build.json"),
  // `npm run typecheck` does.
  skipErrorChecking: true,
  readme: "none",
  name: "percolatordb",
  out,
  disableGit: true,
  disableSources: true,
  hideGenerator: true,
  excludeInternal: true,
  excludePrivate: true,
  excludeExternals: true,
  sort: ["source-order"],
  hidePageHeader: true,
  hideBreadcrumbs: true,
  useCodeBlocks: true,
  expandObjects: false,
  parametersFormat: "table",
  interfacePropertiesFormat: "table",
  classPropertiesFormat: "table",
  typeDeclarationFormat: "table",
  enumMembersFormat: "table",
  validation: { invalidLink: true, notDocumented: false, notExported: false },
  treatValidationWarningsAsErrors: true,
  router: "member",
  entryFileName: "index.md",
  logLevel: "Warn",
} satisfies Partial<TypeDocOptions & PluginOptions>;

/** Names the modules as programs import them, in the order of the entry points. */
function nameModules(project: ProjectReflection, found: readonly Entry[]): void {
  const modules = project.children ?? [];
  for (const { specifier, source } of found) {
    // The converter names a module by its path below the common folder.
    const module = modules.find(
      ({ name }) => source === `src/${name}.ts` || source === `src/${name}/index.ts`,
    );
    if (module === undefined) throw new Error(`${source} of ${specifier} became no module.`);
    module.name = specifier;
  }
  const place = ({ name }: DeclarationReflection) => found.findIndex(({ specifier }) => specifier === name);
  modules.sort((a, b) => place(a) - place(b));
}

const found = await entries();
await rm(out, { recursive: true, force: true });
const app = await Application.bootstrapWithPlugins({
  ...options,
  entryPoints: found.map(({ source }) => join(root, source)),
});
const project = await app.convert();
if (project === undefined) throw new Error("The code does not compile: see `npm run build`.");
nameModules(project, found);
app.validate(project);
await app.generateOutputs(project);
if (app.logger.hasErrors() || app.logger.hasWarnings()) process.exitCode = 1;

const rows = found.map(
  ({ specifier }) => `| [\`${specifier}\`](${specifier}/index.md) | ${about[specifier]} |`,
);
await writeFile(
  join(out, "index.md"),
  `# The API

Made from the code. Everything public is exported by one of these, and by no other path of the package.

| import | |
| --- | --- |
${rows.join("\n")}
`,
);

/** The contents of the site's sidebar: entry points, kinds, names. */
const pages = (project.children ?? []).map((module) => ({
  text: module.name,
  link: `/api/${module.name}/`,
  items: (module.groups ?? []).map(({ title, children }) => ({
    text: title,
    link: `/api/${module.name}/#${title.toLowerCase().replaceAll(" ", "-")}`,
    items: children.map(({ name }) => ({
      text: name,
      // What a module exports again has no page of its own.
      link:
        title === "References"
          ? `/api/${module.name}/#${name.toLowerCase()}`
          : `/api/${module.name}/${title.toLowerCase().replaceAll(" ", "-")}/${name}`,
    })),
  })),
}));
await writeFile(join(out, "pages.json"), JSON.stringify(pages));
