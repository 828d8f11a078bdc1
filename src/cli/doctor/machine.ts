import { readFile } from "node:fs/promises";
import { packageManifest } from "../../environment/index.js";
import { type Finding, ok, problem, warning } from "./finding.js";

const minDescriptors = 1_024;

/** The version that the `lmdb` package exports. The package's types omit it. */
interface LmdbVersion {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
}

/** Examines this process and its machine. */
export async function examineMachine(isFolder: boolean): Promise<readonly Finding[]> {
  return [
    nodeFinding(process.versions.node),
    await packageFinding(isFolder),
    ...(await descriptorFindings()),
  ];
}

/** Checks whether the package supports this version of Node. */
export function nodeFinding(version: string): Finding {
  const { engines } = packageManifest();
  const isSupported = engines.node.split(" || ").some((range) => isIn(version, range));
  if (isSupported) return ok("node", `${version} (${process.platform} ${process.arch})`);
  return problem("node", `${version} is not supported`, `Install Node ${engines.node}.`);
}

/** Whether a version is in a range such as `^20.19.0` or `>=22.12.0`. */
function isIn(version: string, range: string): boolean {
  const least = range.replace(/^\D+/, "");
  const isOfMajor = range.startsWith(">=") || Number.parseInt(version, 10) === Number.parseInt(least, 10);
  return isOfMajor && compareVersions(version, least) >= 0;
}

function compareVersions(one: string, other: string): number {
  const [left, right] = [one, other].map((text) => text.split(".").map(Number)) as [number[], number[]];
  for (let index = 0; index < 3; index++) {
    const difference = (left[index] ?? 0) - (right[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

async function packageFinding(isFolder: boolean): Promise<Finding> {
  const { version } = packageManifest();
  if (!isFolder) return ok("package", `percolatordb ${version}`);
  const lmdb = (await import("lmdb")) as { readonly version?: LmdbVersion };
  const { major, minor, patch } = lmdb.version ?? {};
  return ok("package", `percolatordb ${version}, LMDB ${major}.${minor}.${patch}`);
}

/** Checks the limit of open files, if the operating system reports it. */
async function descriptorFindings(): Promise<readonly Finding[]> {
  const limits = await readFile("/proc/self/limits", "utf8").catch(() => "");
  const soft = /^Max open files\s+(\d+)/m.exec(limits)?.[1];
  if (soft === undefined) return [];
  const count = Number(soft);
  if (count >= minDescriptors) return [ok("file descriptors", `${count} at most`)];
  return [
    warning(
      "file descriptors",
      `only ${count}`,
      `Raise the limit to ${minDescriptors} or more: ulimit -n, LimitNOFILE= of systemd.`,
    ),
  ];
}
