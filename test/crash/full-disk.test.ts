import { expect, test } from "vitest";
import { temporaryFolder } from "../support/databases.js";
import { type Ran, run } from "./run.js";

const child = `"${process.execPath}" --import tsx test/crash/full-disk-child.ts`;
const lockFileChild = `"${process.execPath}" --import tsx test/crash/lock-file-child.ts`;

/** Lines of LMDB itself, as docs/operations.md names them. */
const linesOfLmdb = /^(Write error: .+|mdb_page_\w+ (flushing )?error.*)$/;

function expectWentOn({ status, stdout, stderr }: Ran): void {
  expect(status, stderr.slice(-2_000)).toBe(0);
  const others = stderr.split("\n").filter((line) => line !== "" && !linesOfLmdb.test(line));
  expect(others).toEqual([]);
  const { told, errors } = JSON.parse(stdout.split("\n").at(-2)!) as {
    told: number;
    errors: Record<string, number>;
  };
  expect(told).toBeGreaterThan(100);
  expect(Object.keys(errors)).toEqual(["STORE_FULL"]);
}

test("a full file system fails what is written with a named error, and loses nothing", async () => {
  const folder = await temporaryFolder();
  try {
    // In a mount namespace of its own: the file system goes when the process does.
    const mount = `mount -t tmpfs -o size=10m tmpfs "${folder.path}"`;
    const own = process.getuid?.() === 0 ? ["--mount"] : ["--mount", "--map-root-user"];
    const probe = await run("unshare", [...own, "sh", "-c", mount]);
    if (probe.status !== 0) {
      throw new Error(
        `A small file system cannot be mounted here, so that a full disk was not tested: ${probe.stderr} It takes Linux, ` +
          "`unshare`, and root or user namespaces (in a container: CAP_SYS_ADMIN).",
      );
    }
    expectWentOn(await run("unshare", [...own, "sh", "-c", `${mount} && exec ${child} "${folder.path}"`]));
  } finally {
    await folder.remove();
  }
}, 180_000);

test("a restored backup on a full disk, which has no lock file, is refused by name, and opens when there is room", async () => {
  const folder = await temporaryFolder();
  try {
    const own = process.getuid?.() === 0 ? ["--mount"] : ["--mount", "--map-root-user"];
    const script = [
      `mount -t tmpfs -o size=2m tmpfs "${folder.path}"`,
      `cd ${JSON.stringify(process.cwd())}`,
      `${lockFileChild} fill "${folder.path}/data"`,
      `rm "${folder.path}/data/lock.mdb"`,
      `dd if=/dev/zero of="${folder.path}/ballast" bs=4096 2>/dev/null || true`,
      `${lockFileChild} open "${folder.path}/data"`,
      `ls "${folder.path}/data"`,
      `rm "${folder.path}/ballast"`,
      `${lockFileChild} open "${folder.path}/data"`,
    ];
    const { status, stdout, stderr } = await run("unshare", [...own, "sh", "-ec", script.join("\n")]);
    expect(status, stderr.slice(-2_000)).toBe(0);
    expect(stdout.trim().split("\n")).toEqual(["filled", "STORE_FULL", "data.mdb", "value"]);
  } finally {
    await folder.remove();
  }
}, 180_000);
