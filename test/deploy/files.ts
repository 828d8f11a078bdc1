import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseAllDocuments, parseDocument } from "yaml";

export const root = fileURLToPath(new URL("../../", import.meta.url));

/** A part of a document of which only some fields are read. */
// biome-ignore lint/suspicious/noExplicitAny: what a file holds is checked by its schema
export type Part = any;

/** A file under `deploy/`. */
export function deployed(name: string): string {
  return readFileSync(join(root, "deploy", name), "utf8");
}

/**
 * Returns the documents of a YAML file, with anchors and merges resolved. Throws if one is invalid.
 */
export function documentsOf(name: string): readonly Part[] {
  return parseAllDocuments(deployed(name), { merge: true }).map((document) => {
    const wrong = [...document.errors, ...document.warnings];
    if (wrong.length > 0) throw new Error(`deploy/${name}: ${wrong.join("\n")}`);
    return document.toJS();
  });
}

/** A folder of manifests: for a cluster with coordinators, or for workers on PostgreSQL. */
export type Folder = "kubernetes" | "kubernetes-postgres";

const files: Readonly<Record<Folder, readonly string[]>> = {
  kubernetes: ["service-account", "config", "network-policy", "coordinator", "worker"],
  "kubernetes-postgres": ["service-account", "config", "worker"],
};

export const folders = Object.keys(files) as readonly Folder[];

export function manifestsOf(folder: Folder): readonly string[] {
  return files[folder].map((name) => `${folder}/${name}.yaml`);
}

/** All objects for Kubernetes in a folder. */
export function objects(folder: Folder = "kubernetes"): readonly Part[] {
  return manifestsOf(folder).flatMap(documentsOf);
}

/** Returns the only object of a kind and name. */
export function objectOf(kind: string, name: string, folder: Folder = "kubernetes"): Part {
  const found = objects(folder).filter((object) => object.kind === kind && object.metadata.name === name);
  if (found.length !== 1) throw new Error(`There are ${found.length} of ${kind} ${name}.`);
  return found[0];
}

export function compose(): Part {
  return parseDocument(deployed("compose.yaml"), { merge: true }).toJS();
}

/**
 * Returns a unit's settings by section, each key with all its values. Continued lines are not
 * allowed.
 */
export function unit(name: string): Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> {
  const sections: Record<string, Record<string, string[]>> = {};
  let section: Record<string, string[]> | undefined;
  for (const line of deployed(`systemd/${name}`).split("\n")) {
    if (line.trim() === "" || line.startsWith("#")) continue;
    const head = /^\[(\w+)\]$/.exec(line);
    if (head !== null) {
      section = sections[head[1]!] = {};
      continue;
    }
    const setting = /^(\w+)=(.*)$/.exec(line);
    if (setting === null || section === undefined || line.endsWith("\\"))
      throw new Error(`${name}: "${line}" is no setting.`);
    const [, key = "", value = ""] = setting;
    section[key] = [...(section[key] ?? []), value];
  }
  return sections;
}

/** Converts "30s", "45" or "2m" to seconds. */
export function seconds(text: string | number): number {
  const parsed = /^(\d+)(ms|s|m|h)?$/.exec(String(text));
  if (parsed === null) throw new Error(`"${text}" is no duration.`);
  return (
    Number(parsed[1]) * { ms: 0.001, s: 1, m: 60, h: 3_600 }[(parsed[2] ?? "s") as "ms" | "s" | "m" | "h"]
  );
}
