import { execFile } from "node:child_process";
import { randomInt } from "node:crypto";
import { promisify } from "node:util";
import { onPath } from "../emulator/find.js";

const run = promisify(execFile);

/**
 * A separate network for processes of a test, connected to this machine by one virtual cable.
 * Processes started with {@link command} reach only {@link hostAddress}, until the cable is pulled.
 */
export class NetworkNamespace implements AsyncDisposable {
  readonly name: string;
  /** This machine's address at its end of the cable. */
  readonly hostAddress: string;
  readonly #cable: string;

  private constructor(name: string, cable: string, hostAddress: string) {
    this.name = name;
    this.#cable = cable;
    this.hostAddress = hostAddress;
  }

  /**
   * Creates a namespace. If this machine does not allow it, rejects and says what is missing: see
   * {@link obstacleToNamespaces}.
   */
  static async create(): Promise<NetworkNamespace> {
    const id = randomInt(1 << 14);
    const name = `percolator-${id}`;
    const [here, there] = [`pc${id}h`, `pc${id}n`];
    const address = (last: number) => `10.213.${id >> 6}.${(id & 63) * 4 + last}`;
    const namespace = new NetworkNamespace(name, here, address(1));
    await ip("netns", "add", name);
    try {
      await ip("link", "add", here, "type", "veth", "peer", "name", there, "netns", name);
      await ip("address", "add", `${address(1)}/30`, "dev", here);
      await ip("link", "set", here, "up");
      await ip("-n", name, "address", "add", `${address(2)}/30`, "dev", there);
      await ip("-n", name, "link", "set", there, "up");
      await ip("-n", name, "link", "set", "lo", "up");
    } catch (error) {
      await namespace.remove();
      throw error;
    }
    return namespace;
  }

  /** Returns a command and its arguments that run inside the namespace. */
  command(program: string, args: readonly string[]): readonly [program: string, args: readonly string[]] {
    return ["ip", ["netns", "exec", this.name, program, ...args]];
  }

  /** Pulls the cable: nothing arrives in either direction. */
  disconnect(): Promise<void> {
    return ip("link", "set", this.#cable, "down");
  }

  connect(): Promise<void> {
    return ip("link", "set", this.#cable, "up");
  }

  /** Removes the namespace. Its processes must have ended. */
  async remove(): Promise<void> {
    // Removing the namespace removes the cable too, but not at once.
    await ip("link", "delete", this.#cable).catch(() => undefined);
    await ip("netns", "delete", this.name);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.remove();
  }
}

/**
 * Returns why this machine cannot create network namespaces, or undefined if it can. Installs
 * missing tools if it may.
 */
export async function obstacleToNamespaces(): Promise<string | undefined> {
  if (process.platform !== "linux") return "network namespaces are Linux's";
  if (process.getuid?.() !== 0) return "network namespaces need root";
  if (onPath("ip", process.env) === undefined) {
    const aptGet = onPath("apt-get", process.env);
    if (aptGet === undefined) return "there is no `ip` (package iproute2)";
    const wait = ["-o", "DPkg::Lock::Timeout=300"];
    const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
    try {
      await run(aptGet, [...wait, "update"], { env });
      await run(aptGet, [...wait, "install", "-y", "--no-install-recommends", "iproute2"], { env });
    } catch (error) {
      return `there is no \`ip\`, and iproute2 could not be installed: ${String(error)}`;
    }
  }
  try {
    await (await NetworkNamespace.create()).remove();
    return undefined;
  } catch (error) {
    return `this machine permits none: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/**
 * Prints prominently that a test did not run. If `CI` is set, the test must run, so this throws.
 */
export function untested(obstacle: string): void {
  if (process.env.CI !== undefined) throw new Error(`Not tested, and expected to be: ${obstacle}.`);
  process.stderr.write(`\n!!! NOT TESTED HERE: ${obstacle}.\n\n`);
}

async function ip(...args: readonly string[]): Promise<void> {
  await run("ip", args);
}
