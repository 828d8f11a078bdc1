import { constants } from "node:fs";
import { access, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import { showBytes } from "../print/layout.js";
import { type Finding, ok, problem, warning } from "./finding.js";

/** Network file systems, by the number that Linux gives each type (`statfs.f_type`). */
const networkSystems: ReadonlyMap<number, string> = new Map([
  [0x6969, "NFS"],
  [0x517b, "SMB"],
  [0xff534d42, "CIFS"],
  [0xfe534d42, "SMB2"],
  [0x01021997, "9P"],
  [0x65735546, "FUSE"],
]);
const minFree = 256 * 1024 * 1024;
const files = ["data.mdb", "lock.mdb"];

/**
 * Examines a folder before the database is opened. `writes`: whether this process needs to write to
 * it, as a worker does.
 */
export async function examineFolder(path: string, writes: boolean): Promise<readonly Finding[]> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory() !== true) {
    const what = found === undefined ? `${path} does not exist` : `${path} is not a folder`;
    return [problem("folder", what, "Check the location. `percolator init` creates a new database.")];
  }
  return [await permissions(path, writes), ...(await disk(path))];
}

async function permissions(path: string, writes: boolean): Promise<Finding> {
  const unreadable: string[] = [];
  const unwritable: string[] = [];
  for (const each of [path, ...files.map((file) => join(path, file))]) {
    const isThere = (await stat(each).catch(() => undefined)) !== undefined;
    if (!isThere) continue;
    if (!(await may(each, constants.R_OK))) unreadable.push(each);
    else if (!(await may(each, constants.W_OK))) unwritable.push(each);
  }
  const owner = "Run as the user that owns the database, or change the owner.";
  if (unreadable.length > 0) {
    return problem("permissions", `this user may not read ${unreadable.join(", ")}`, owner);
  }
  if (unwritable.length === 0) return ok("permissions", `${path} may be read and written`);
  const what = `read-only: this user may not write ${unwritable.join(", ")}`;
  if (writes)
    return problem("permissions", what, `${owner} If the folder is mounted read-only, mount it writable.`);
  return warning(
    "permissions",
    what,
    "Commands that only read work as long as no process writes to the folder. Workers, and commands that write, need write permission; `percolator doctor --write` checks it.",
  );
}

function may(path: string, mode: number): Promise<boolean> {
  return access(path, mode).then(
    () => true,
    () => false,
  );
}

async function disk(path: string): Promise<readonly Finding[]> {
  const { bavail, bsize, type } = await statfs(path);
  const free = bavail * bsize;
  const size = (await stat(join(path, files[0]!)).catch(() => undefined))?.size ?? 0;
  const network = networkSystems.get(type);
  const what = `${showBytes(free)} free, the database uses ${showBytes(size)}`;
  const advice =
    "Free space on the disk. On a full disk, commits fail. `percolator compact` copies the folder into a smaller one, on any disk.";
  return [
    network === undefined
      ? ok("file system", "no known network file system")
      : warning("file system", network, "Put the folder on a local disk: locks and memory maps need one."),
    free < minFree
      ? problem("disk", what, advice)
      : free < size
        ? warning("disk", what, advice)
        : ok("disk", what),
  ];
}
