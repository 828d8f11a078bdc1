import { readFileSync, readlinkSync } from "node:fs";
import { hostname, networkInterfaces } from "node:os";
import { sha256 } from "./crypto.js";

/** Facts that tell one machine, or one container on it, from all others. */
export interface MachineFacts {
  readonly hostname: string;
  /** A random id that the kernel draws at each boot. Undefined on systems without one. */
  readonly bootId: string | undefined;
  /**
   * The namespace of the process ids. Each container has its own. Undefined on systems without
   * namespaces.
   */
  readonly processNamespace: string | undefined;
  /** The hardware addresses of the network interfaces. */
  readonly addresses: readonly string[];
}

/**
 * A name for the machine or container, within which each process id belongs to one process. A host
 * name is not enough: two machines or containers may share one, and would take each other's
 * processes for dead.
 *
 * Without a boot id and a namespace, the network addresses identify the machine. If the addresses
 * change, processes that started before and after the change get different machine names. Such
 * processes can only see from heartbeats whether the others are alive.
 */
export function machineName({ hostname: host, bootId, processNamespace, addresses }: MachineFacts): string {
  const isKnown = bootId !== undefined && processNamespace !== undefined;
  const facts = isKnown ? [bootId, processNamespace] : [...new Set(addresses)].sort();
  return `${host}/${sha256(JSON.stringify(facts)).slice(0, 16)}`;
}

/** The facts of the machine on which this process runs. */
export function thisMachine(): MachineFacts {
  const interfaces = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  return {
    hostname: hostname(),
    bootId: unlessMissing(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()),
    processNamespace: unlessMissing(() => readlinkSync("/proc/self/ns/pid")),
    addresses: interfaces.filter(({ internal }) => !internal).map(({ mac }) => mac),
  };
}

/** Undefined if the system has no such file, or if this process may not read it. */
function unlessMissing(read: () => string): string | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
