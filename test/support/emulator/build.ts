import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { onPath } from "./find.js";

const run = promisify(execFile);

const goPath = "/usr/share/gocode";
const library = join(goPath, "src/cloud.google.com/go/bigtable/bttest/inmem.go");
const packages = ["golang-go", "golang-google-cloud-dev"];
const cache = fileURLToPath(new URL("../../../node_modules/.cache/bigtable-emulator/", import.meta.url));
const program = join(cache, "cbtemulator");

const howToGetOne =
  "Tests on Bigtable need its emulator, and there is none here. Either install the Google Cloud SDK with " +
  "`gcloud components install bigtable` (or the package google-cloud-cli-bigtable-emulator); or, on Debian and Ubuntu, " +
  `the packages it is built from: \`apt-get install -y ${packages.join(" ")}\`; or name a cbtemulator in ` +
  "PERCOLATOR_BIGTABLE_EMULATOR.";

/**
 * Returns the path of an emulator built from Debian's packages. It is built once, and cached in
 * node_modules.
 */
export async function buildEmulator(): Promise<string> {
  if (existsSync(program)) return program;
  if (!hasSources()) await installSources();
  await mkdir(cache, { recursive: true });
  const folder = await mkdtemp(join(cache, "build-"));
  try {
    const built = join(folder, "cbtemulator");
    await build(folder, built);
    await rename(built, program);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return program;
}

function hasSources(): boolean {
  return onPath("go", process.env) !== undefined && existsSync(library);
}

async function installSources(): Promise<void> {
  const aptGet = onPath("apt-get", process.env);
  if (aptGet === undefined || process.getuid?.() !== 0) throw new Error(howToGetOne);
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const wait = ["-o", "DPkg::Lock::Timeout=300"];
  try {
    await run(aptGet, [...wait, "update"], { env });
    await run(aptGet, [...wait, "install", "-y", "--no-install-recommends", ...packages], { env });
  } catch (error) {
    throw new Error(`${howToGetOne} Installing the packages failed.`, { cause: error });
  }
  if (!hasSources()) throw new Error(howToGetOne);
}

async function build(folder: string, output: string): Promise<void> {
  const source = fileURLToPath(new URL("./source/main.go", import.meta.url));
  const mended = join(folder, "inmem.go");
  await writeFile(mended, mend(await readFile(library, "utf8")));
  const overlay = join(folder, "overlay.json");
  await writeFile(overlay, JSON.stringify({ Replace: { [library]: mended } }));
  const env = {
    ...process.env,
    GO111MODULE: "off",
    GOPATH: goPath,
    GOFLAGS: "",
    GOCACHE: join(cache, "go-build"),
  };
  await run("go", ["build", "-overlay", overlay, "-o", output, source], { env, maxBuffer: 16 << 20 });
}

/**
 * Fixes two faults of the source: readers share a row's list of columns while it changes, and
 * timestamps end in the year 10,000.
 */
function mend(text: string): string {
  const once = (from: RegExp, to: string) => {
    if (text.match(from) === null)
      throw new Error(`The emulator's source has changed: ${from} is not there.`);
    text = text.replace(from, to);
  };
  once(/\bcolNames: fam\.colNames,/, "colNames: append([]string(nil), fam.colNames...),");
  once(/\bmaxValidMilliSeconds = .*/, "maxValidMilliSeconds = int64(9223372036854775000)");
  return text;
}
