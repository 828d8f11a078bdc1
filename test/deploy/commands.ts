import { compose, deployed, type Folder, objectOf, unit } from "./files.js";

/** A command line of the program in one of the files. */
export interface CommandLine {
  readonly from: string;
  readonly args: readonly string[];
}

const documented = (name: string) =>
  Object.fromEntries(
    [...deployed(`systemd/${name}`).matchAll(/^# {3}([A-Z_]+)=(.*)$/gm)].map(([, key, value]) => [
      key,
      value!,
    ]),
  );

/**
 * Returns every command line of the program in the files. Replaces each variable by the value that
 * the files give it, or by the value that they show as an example.
 */
export function commandLines(): readonly CommandLine[] {
  return [...composed(), ...orchestrated(), ...supervised()];
}

function composed(): readonly CommandLine[] {
  const services = Object.entries(
    compose().services as Record<string, { image: string; command?: string[] }>,
  );
  return services
    .filter(([, { image }]) => image === "percolatordb")
    .map(([name, { command }]) => ({ from: `compose.yaml, ${name}`, args: command ?? [] }));
}

function orchestrated(): readonly CommandLine[] {
  const started: readonly (readonly [Folder, string, string])[] = [
    ["kubernetes", "StatefulSet", "percolator-coordinator"],
    ["kubernetes", "Deployment", "percolator-worker"],
    ["kubernetes-postgres", "Deployment", "percolator-worker"],
  ];
  return started.map(([folder, kind, name]) => {
    const values: Readonly<Record<string, string>> = {
      ...objectOf("ConfigMap", "percolator", folder).data,
      POD_NAME: "percolator-coordinator-0",
    };
    const [container] = objectOf(kind, name, folder).spec.template.spec.containers;
    const given = container.env.map((each: { name: string }) => each.name);
    const args = container.args.map((arg: string) =>
      arg.replaceAll(/\$\((\w+)\)/g, (_, variable: string) => {
        if (!given.includes(variable) || values[variable] === undefined)
          throw new Error(`${name}: $(${variable}) has no value.`);
        return values[variable];
      }),
    );
    return { from: `${folder}, ${kind} ${name}`, args };
  });
}

function supervised(): readonly CommandLine[] {
  return ["percolator-coordinator.service", "percolator-worker@.service"].map((name) => {
    const [line = ""] = unit(name).Service!.ExecStart!;
    const [program, ...words] = line.split(" ");
    if (program !== "/opt/percolator/bin/percolator") throw new Error(`${name} begins ${program}.`);
    const values = documented(name);
    const args = words.map((word) =>
      word.replaceAll(/\$\{(\w+)\}/g, (_, variable: string) => {
        if (values[variable] === undefined) throw new Error(`${name}: \${${variable}} is not documented.`);
        return values[variable];
      }),
    );
    return {
      from: `systemd, ${name}`,
      args: args.map((arg) => arg.replaceAll("%d", "/run/credentials/unit")),
    };
  });
}

/** Returns the value after a flag. */
export function flagValue({ from, args }: CommandLine, flag: string): string {
  const value = args[args.indexOf(flag) + 1];
  if (!args.includes(flag) || value === undefined) throw new Error(`${from} has no ${flag}.`);
  return value;
}
