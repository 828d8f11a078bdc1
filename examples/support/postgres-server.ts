import { execFile, spawn } from "node:child_process";
import { chmod, chown, mkdtemp, readdir, rm } from "node:fs/promises";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const installations = "/usr/lib/postgresql";

export interface PostgresServer {
  /** The folder of its socket. Clients use it as `host`. */
  readonly host: string;
  readonly user: string;
  /** Starts it again after {@link end}. */
  start(): Promise<void>;
  /** Ends it at once, as in a crash. */
  end(): Promise<void>;
  /** Ends it at once, as in a crash, and restarts it with the same data. */
  crash(): Promise<void>;
  /** Ends it as an operator does, which ends all connections, and starts it again. */
  restart(): Promise<void>;
  /** Makes a standby the primary. */
  promote(): Promise<void>;
  stop(): Promise<void>;
}

export interface PostgresServerOptions {
  /** Additional settings as `name=value`. */
  readonly settings?: readonly string[] | undefined;
  /** The folder of `initdb`, `pg_ctl` and `postgres`. Default: `POSTGRES_PROGRAMS`, else the newest installed. */
  readonly programs?: string | undefined;
  /** Whether the server may outlive this process. Default: false. */
  readonly outlives?: boolean | undefined;
}

/**
 * Starts a PostgreSQL server in a temporary folder, with a socket there. Throws if PostgreSQL is
 * not installed.
 */
export async function startPostgres({
  programs,
  ...more
}: PostgresServerOptions = {}): Promise<PostgresServer> {
  const found = programs ?? (await findPrograms());
  return await startIn({ ...more, programs: found }, async (data, options) => {
    await run(join(found, "initdb"), ["-D", data, "-U", "postgres", "-A", "trust", "-N"], options);
  });
}

/** Starts a standby that follows the server whose socket is in the folder `primary`. */
export async function startStandby(
  primary: string,
  { settings }: Pick<PostgresServerOptions, "settings"> = {},
): Promise<PostgresServer> {
  const programs = await findPrograms();
  const from = ["-h", primary, "-U", "postgres"];
  return await startIn({ settings, programs }, async (data, options) => {
    // -R: the copy knows its primary.
    await run(join(programs, "pg_basebackup"), [...from, "-D", data, "-R", "-c", "fast"], options);
  });
}

/** Starts a server in a new folder, in which `fill` makes the data. */
async function startIn(
  given: PostgresServerOptions & { readonly programs: string },
  fill: (data: string, options: object) => Promise<void>,
): Promise<PostgresServer> {
  const account = await serverAccount();
  const folder = await mkdtemp(join(tmpdir(), "percolatordb-postgres-"));
  await chmod(folder, 0o700);
  if (account !== undefined) await chown(folder, account.uid, account.gid);
  await fill(join(folder, "data"), { ...account, cwd: folder });
  const server = await runningPostgres(folder, given);
  await server.start();
  if (!given.outlives) guardPostgres(folder);
  return server;
}

const endServer = `
cat >/dev/null
host=$0
[ -d "$0" ] || host=$(cat "$0" 2>/dev/null)
if [ -n "$host" ]; then
  pid=$host/data/postmaster.pid
  [ ! -f "$pid" ] || kill -QUIT "$(head -n 1 "$pid")"
  for _ in $(seq 100); do [ ! -f "$pid" ] || sleep 0.1; done
  rm -rf "$host"
fi
rm -rf "$@"`;

/**
 * Ends a server and removes its folder when this process has ended, even by `SIGKILL` or Ctrl-C. `host` is
 * the folder, or a file that will name it. Removes `more`, too.
 */
export function guardPostgres(host: string, ...more: readonly string[]): void {
  const child = spawn("sh", ["-c", endServer, host, ...more], {
    cwd: "/",
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
  });
  child.unref();
  // Not on Bun, where the pipe keeps no process alive.
  (child.stdin as Partial<Socket>).unref?.();
}

/**
 * The server that another process started with {@link startPostgres} in the folder `host`, so that
 * this process can stop or crash it.
 */
export async function runningPostgres(
  host: string,
  { settings = [], programs: given }: PostgresServerOptions = {},
): Promise<PostgresServer> {
  const programs = given ?? (await findPrograms());
  const data = join(host, "data");
  const options = { ...(await serverAccount()), cwd: host };
  const start = async () => {
    // Discards the server's output. If the server inherited a pipe, the pipe would never end.
    const added = settings.map((setting) => ` -c ${setting}`).join("");
    const all = `-k ${host} -c listen_addresses=${added}`;
    await waitFor(join(programs, "pg_ctl"), ["start", "-w", "-s", "-D", data, "-o", all], options);
  };
  const end = (mode: string) =>
    run(join(programs, "pg_ctl"), ["stop", "-w", "-s", "-m", mode, "-D", data], options);
  return {
    host,
    user: "postgres",
    start,
    async end() {
      await end("immediate");
    },
    async crash() {
      await end("immediate");
      await start();
    },
    async restart() {
      await end("fast");
      await start();
    },
    async promote() {
      await run(join(programs, "pg_ctl"), ["promote", "-w", "-s", "-D", data], options);
    },
    async stop() {
      await end("fast");
      await rm(host, { recursive: true, force: true });
    },
  };
}

async function findPrograms(): Promise<string> {
  const given = process.env.POSTGRES_PROGRAMS;
  if (given !== undefined) return given;
  const versions = (await readdir(installations).catch(() => [])).sort((a, b) => Number(b) - Number(a));
  if (versions[0] === undefined) {
    throw new Error(`No PostgreSQL server is installed in ${installations}: apt-get install postgresql.`);
  }
  return join(installations, versions[0], "bin");
}

/**
 * PostgreSQL refuses to run as root. If this process is root, returns the account that PostgreSQL's
 * package has created.
 */
export async function serverAccount(): Promise<{ readonly uid: number; readonly gid: number } | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const number = async (flag: string) => Number((await run("id", [flag, "postgres"])).stdout);
  return { uid: await number("-u"), gid: await number("-g") };
}

function waitFor(program: string, given: readonly string[], options: object): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, given, { ...options, stdio: "ignore" });
    child.on("error", reject);
    child.on("exit", (code) =>
      code === 0 ? resolve() : reject(new Error(`${program} ended with ${code}.`)),
    );
  });
}
