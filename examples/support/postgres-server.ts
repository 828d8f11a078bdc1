import { execFile, spawn } from "node:child_process";
import { chmod, chown, mkdtemp, readdir, rm } from "node:fs/promises";
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
  stop(): Promise<void>;
}

/**
 * Starts a PostgreSQL server in a temporary folder, with a socket there. Throws if PostgreSQL is
 * not installed.
 */
export async function startPostgres(
  /** Additional settings as `name=value`. */
  { settings = [] }: { readonly settings?: readonly string[] | undefined } = {},
): Promise<PostgresServer> {
  const programs = await findPrograms();
  const account = await serverAccount();
  const folder = await mkdtemp(join(tmpdir(), "percolatordb-postgres-"));
  await chmod(folder, 0o700);
  if (account !== undefined) await chown(folder, account.uid, account.gid);
  const data = join(folder, "data");
  const options = { ...account, cwd: folder };
  await run(join(programs, "initdb"), ["-D", data, "-U", "postgres", "-A", "trust", "-N"], options);
  const server = await runningPostgres(folder, { settings });
  await server.start();
  return server;
}

/**
 * The server that another process started with {@link startPostgres} in the folder `host`, so that
 * this process can stop or crash it.
 */
export async function runningPostgres(
  host: string,
  { settings = [] }: { readonly settings?: readonly string[] | undefined } = {},
): Promise<PostgresServer> {
  const programs = await findPrograms();
  const data = join(host, "data");
  const options = { ...(await serverAccount()), cwd: host };
  const start = async () => {
    // Discards the server's output. If the server inherited a pipe, the pipe would never end.
    const given = settings.map((setting) => ` -c ${setting}`).join("");
    const all = `-k ${host} -c listen_addresses=${given}`;
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
    async stop() {
      await end("fast");
      await rm(host, { recursive: true, force: true });
    },
  };
}

async function findPrograms(): Promise<string> {
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
async function serverAccount(): Promise<{ readonly uid: number; readonly gid: number } | undefined> {
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
