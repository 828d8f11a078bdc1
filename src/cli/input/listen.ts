import { UsageError } from "../usage-error.js";

/** The address of an HTTP server. The default host is the loopback address. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** Returns a parser of `PORT` or `HOST:PORT`. `option` is the option's name, for messages. */
export function parseListen(option: string): (text: string) => ListenAddress {
  return (text) => {
    const found = /^(?:(?:\[([0-9a-f:.%]+)\]|([^\s:[\]/]+)):)?(\d{1,5})$/i.exec(text);
    const port = Number(found?.[3]);
    if (found === null || port > 65_535)
      throw new UsageError(`${option} takes PORT or HOST:PORT, such as 9464, not ${JSON.stringify(text)}.`);
    return { host: found[1] ?? found[2] ?? "127.0.0.1", port };
  };
}

/** Formats an address in the form that {@link parseListen} accepts. */
export function listenText({ host, port }: ListenAddress): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}
