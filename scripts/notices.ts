/**
 * Writes THIRD_PARTY_NOTICES, the licences of the package's dependencies and of the packages in its
 * built pages: `npm run notices`.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = fileURLToPath(new URL("../", import.meta.url));
export const noticesPath = join(root, "THIRD_PARTY_NOTICES");

/** Packages that are built into the dashboard's pages, and so are part of this package. */
const builtIn = ["preact", "@dagrejs/dagre", "@dagrejs/graphlib"].map((name) => `node_modules/${name}`);

/** A package in package-lock.json. */
interface Locked {
  readonly version: string;
  readonly license?: string;
  readonly dev?: boolean;
  readonly devOptional?: boolean;
  /**
   * Set for a package of binaries for some platforms. Such a package has the licence of the package
   * that uses the binaries.
   */
  readonly os?: readonly string[];
}

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
  readonly homepage?: string;
}

const head = `Third-party notices of percolatordb

percolatordb itself is under the Apache License 2.0; see LICENSE. Its dashboard contains Preact, dagre and graphlib. Its codecs of Bigtable's
and gRPC's messages follow Google's definitions, which are under the Apache License 2.0. To run it needs the packages below, which npm
installs beside it, with binaries for the machine where there are some; each is under the licence that it says.
`;

const line = `\n${"-".repeat(80)}\n\n`;

/** The packages in package-lock.json that npm installs with this one, by their places. */
export function installed(): readonly (readonly [place: string, locked: Locked])[] {
  const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as {
    readonly packages: Readonly<Record<string, Locked>>;
  };
  return Object.entries(lock.packages).filter(
    ([place, { dev, devOptional }]) => place !== "" && !dev && !devOptional,
  );
}

/** Returns the text of THIRD_PARTY_NOTICES, from package-lock.json and node_modules. */
export function notices(): string {
  const needed = installed().flatMap(([place, { os }]) => (os === undefined ? [place] : []));
  const packages = [...builtIn, ...needed].map((path) => packageIn(join(root, path)));
  const sorted = packages.sort((a, b) => (a.title < b.title ? -1 : 1));
  const shown = new Map<string, string>();
  return [head, ...sorted.map((each) => noticeOf(each, shown))].join(line);
}

interface Licensed {
  /** Name and version. */
  readonly title: string;
  readonly summary: string;
  /**
   * Its licence texts, each with the folder within the package to which it applies. "" means the
   * whole package.
   */
  readonly texts: readonly (readonly [folder: string, text: string])[];
}

function packageIn(folder: string): Licensed {
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
  const {
    name,
    version,
    license = "see its text",
    homepage = `https://www.npmjs.com/package/${name}`,
  } = manifest;
  const texts = licenceFiles(folder).map((file): readonly [string, string] => {
    const text = readFileSync(join(folder, file), "utf8").replaceAll("\r\n", "\n").trim();
    return [file.slice(0, Math.max(0, file.lastIndexOf("/"))), text];
  });
  return { title: `${name} ${version}`, summary: `Licence: ${license}\n${homepage}`, texts };
}

/** Returns a package's notice. `shown` maps each text to the package that has already shown it. */
function noticeOf({ title, summary, texts }: Licensed, shown: Map<string, string>): string {
  const parts = texts.map(([folder, text]) => {
    const before = shown.get(text);
    if (before === undefined) shown.set(text, title);
    const about = folder === "" ? "" : `Of ${folder}:\n\n`;
    return about + (before === undefined ? text : `The text is that of ${before}, above.`);
  });
  if (parts.length === 0) parts.push("The package comes without the text of its licence.");
  return `${[title, summary].join("\n")}\n\n${parts.join("\n\n")}\n`;
}

/**
 * Returns the paths of the licences and notices in a package, its own first. Leaves out those of
 * nested packages.
 */
function licenceFiles(folder: string): readonly string[] {
  const found: string[] = [];
  const walk = (within: string) => {
    for (const entry of readdirSync(join(folder, within), { withFileTypes: true })) {
      if (entry.isDirectory() && !/^(node_modules$|\.)/.test(entry.name)) walk(`${within}${entry.name}/`);
      if (entry.isFile() && isLicence(entry.name)) found.push(`${within}${entry.name}`);
    }
  };
  walk("");
  return found.sort((a, b) => a.split("/").length - b.split("/").length || (a < b ? -1 : 1));
}

function isLicence(name: string): boolean {
  return /^(licen[cs]e(-\w+)?|copying|copyright|notice)(\.(md|txt|markdown))?$/i.test(name);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) writeFileSync(noticesPath, notices());
