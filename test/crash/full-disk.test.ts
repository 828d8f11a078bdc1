import { expect, test } from "vitest";
import { temporaryFolder } from "../support/databases.js";
import { type Ran, run } from "./run.js";

const child = `"${process.execPath}" --import tsx test/crash/full-disk-child.ts`;

function expectWentOn({ status, stdout, stderr }: Ran): void {
  // LMDB's binding itself prints each failure on the error stream; ours comes last.
  expect(status, stderr.slice(-2_000)).toBe(0);
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
