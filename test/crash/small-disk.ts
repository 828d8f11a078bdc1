import { type Ran, run } from "./run.js";

/**
 * Runs the command on its own small file system in its own mount namespace. The file system
 * disappears when the process ends.
 */
export async function onSmallDisk(size: string, folder: string, command: string): Promise<Ran> {
  const mount = `mount -t tmpfs -o size=${size} tmpfs "${folder}"`;
  const own = process.getuid?.() === 0 ? ["--mount"] : ["--mount", "--map-root-user"];
  const probe = await run("unshare", [...own, "sh", "-c", mount]);
  if (probe.status !== 0) {
    throw new Error(
      `A small file system cannot be mounted here, so that a full disk was not tested: ${probe.stderr} It takes Linux, ` +
        "`unshare`, and root or user namespaces (in a container: CAP_SYS_ADMIN).",
    );
  }
  return await run("unshare", [...own, "sh", "-ec", `${mount}\n${command}`]);
}
