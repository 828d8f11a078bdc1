import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { copiesOf, stages } from "./dockerfile.js";
import { compose, deployed, objectOf, root } from "./files.js";

const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

describe("the Dockerfile", () => {
  const all = stages();
  const last = all.at(-1)!;

  test("starts each stage from one image of Node that the package allows", () => {
    const images = new Set(all.map(({ image }) => image));
    expect(images.size).toBe(1);
    // All stages use one version with long-term support. These versions are even. Node 20 gets no
    // more releases.
    const [, major] = /^node:(\d+)\.\d+\.\d+-bookworm-slim$/.exec([...images][0]!)!;
    expect(Number(major) % 2).toBe(0);
    expect(Number(major)).toBeGreaterThanOrEqual(Number(/>=(\d+)\./.exec(manifest.engines.node)![1]));
  });

  test("copies only existing files that the ignore file allows, and from earlier stages", () => {
    const lets = deployed("Dockerfile.dockerignore")
      .split("\n")
      .filter((line) => line.startsWith("!"))
      .map((line) => line.slice(1));
    const named: string[] = [];
    for (const [index, stage] of all.entries()) {
      for (const { from, sources } of copiesOf(stage)) {
        if (from !== undefined) {
          expect(all.slice(0, index).map(({ as }) => as)).toContain(from);
          continue;
        }
        for (const source of sources) {
          expect(existsSync(join(root, source)), source).toBe(true);
          expect(lets).toContain(source.replace(/^\.\//, ""));
          named.push(source.replace(/^\.\//, ""));
        }
      }
    }
    expect([...new Set(named)].sort()).toEqual([...lets].sort());
  });

  test("installs by the lock file, without install scripts, and ends without development packages", () => {
    const runs = all.flatMap(({ instructions }) => instructions).filter(({ name }) => name === "RUN");
    const installs = runs.map(({ rest }) => rest).filter((rest) => /npm (ci|install)/.test(rest));
    for (const each of installs) expect(each).toContain("--ignore-scripts");
    const dependencies = all.find(({ as }) => as === "dependencies")!;
    expect(dependencies.instructions.some(({ rest }) => rest.startsWith("npm ci --omit=dev"))).toBe(true);
    const scripts = runs.flatMap(({ rest }) => [...rest.matchAll(/npm run (\w+)/g)].map(([, name]) => name!));
    expect(scripts).toEqual(["build"]);
  });

  test("has the optional peers in the tested versions", () => {
    const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"));
    const installs = deployed("Dockerfile")
      .split(/\s+/)
      .filter((word) => /^@?[a-z/-]+@\d/.test(word));
    // Preact and React run in browsers.
    const peers = Object.keys(manifest.peerDependencies).filter((name) => !/^p?react$/.test(name));
    expect(installs).toEqual(peers.map((name) => `${name}@${lock.packages[`node_modules/${name}`].version}`));
  });

  test("does not run as root, and starts the package's program", () => {
    const user = last.instructions.findIndex(({ name }) => name === "USER");
    expect(last.instructions[user]!.rest).toBe("node");
    expect(last.instructions.slice(user).map(({ name }) => name)).not.toContain("RUN");
    const entry = JSON.parse(last.instructions.find(({ name }) => name === "ENTRYPOINT")!.rest);
    expect(entry).toEqual(["node", `/app/node_modules/percolatordb/${manifest.bin.percolator.slice(2)}`]);
  });

  test("has the probe scripts at their expected place", () => {
    const probes = [
      ...compose().services["coordinator-1"].healthcheck.test,
      ...objectOf("StatefulSet", "percolator-coordinator").spec.template.spec.containers[0].livenessProbe.exec
        .command,
    ]
      .join(" ")
      .match(/\/app\/[\w-]+\.mjs/g)!;
    const put = copiesOf(last)
      .filter(({ target }) => target === "./")
      .flatMap(({ sources }) => sources.map((source) => source.replace("deploy/", "/app/")));
    expect(put).toEqual(expect.arrayContaining([...new Set(probes)]));
  });
});
