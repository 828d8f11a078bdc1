import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { freePort } from "../../cluster/members.js";
import { pause } from "../waiting.js";

const program = "/usr/sbin/pgbouncer";

/** Whether PgBouncer is installed here. Debian's package is `pgbouncer`. */
export const hasPgBouncer = existsSync(program);

/** A PgBouncer between a test and a server. */
export interface PgBouncer extends AsyncDisposable {
  /** `HOST:PORT`. */
  readonly address: string;
}

/** Starts PgBouncer before the server whose socket is in the folder `host`. It keeps no prepared statements. */
export async function startPgBouncer(host: string, mode: "session" | "transaction"): Promise<PgBouncer> {
  const folder = await mkdtemp(join(tmpdir(), "percolatordb-pgbouncer-"));
  const port = await freePort();
  const { stdout } = await promisify(execFile)(program, ["--version"]);
  const minor = Number(/^PgBouncer 1\.(\d+)/.exec(stdout)![1]);
  const settings = [
    "[databases]",
    `postgres = host=${host} user=postgres`,
    "[pgbouncer]",
    "listen_addr = 127.0.0.1",
    `listen_port = ${port}`,
    "unix_socket_dir =",
    "auth_type = any",
    `pool_mode = ${mode}`,
    // Fewer than the clients have, so that their transactions share connections.
    `default_pool_size = ${mode === "transaction" ? 3 : 20}`,
    // Earlier versions keep none, and refuse to know the setting.
    ...(minor >= 21 ? ["max_prepared_statements = 0"] : []),
  ];
  await writeFile(join(folder, "pgbouncer.ini"), `${settings.join("\n")}\n`);
  // PgBouncer refuses to run as root. Debian's package of the server has created this account.
  await chmod(folder, 0o755);
  const account = process.getuid?.() === 0 ? ["-u", "postgres"] : [];
  const child = spawn(program, [...account, "-q", join(folder, "pgbouncer.ini")], { stdio: "ignore" });
  await untilListening(port, child);
  return {
    address: `127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      const ended = once(child, "exit");
      child.kill("SIGQUIT");
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function untilListening(port: number, child: ChildProcess): Promise<void> {
  for (;;) {
    if (child.exitCode !== null) throw new Error(`PgBouncer ended with ${child.exitCode}.`);
    const socket = connect({ host: "127.0.0.1", port });
    const isListening = await new Promise<boolean>((resolve) => {
      socket.once("connect", () => resolve(true));
      socket.once("error", () => resolve(false));
    });
    socket.destroy();
    if (isListening) return;
    await pause(20);
  }
}
