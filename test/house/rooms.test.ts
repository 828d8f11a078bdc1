import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

const source = fileURLToPath(new URL("../../src/", import.meta.url));

/**
 * The rooms, which are the folders of `src`. A room may import only from the rooms before it in
 * this list. The folders of the stores come after the contract that they implement.
 */
const rooms = [
  "errors",
  "environment",
  "events",
  "schema",
  "store",
  "store/memory",
  "store/lmdb",
  "store/postgres",
  "store/bigtable",
  "oracle",
  "transaction",
  "observer",
  "evolution",
  "coordinator",
  "live",
  "live/http",
  "live/client",
  "database",
  "backup",
  "recipes",
  "postgres",
  "testing",
  "dashboard",
  "cli",
];

/** Rooms within rooms. A room may import only from those before it, and from files next to them. */
const innerRooms: Readonly<Record<string, readonly string[]>> = {
  "store/lmdb": ["record", "file", "read", "write/draft", "write/plan", "write", "folder"],
  "store/postgres": ["wire", "wake", "table", "read", "write", "health"],
  "store/bigtable": ["protos", "wire", "table", "read", "write"],
  transaction: ["cell", "feed", "lock", "read", "commit", "maintenance", "wire"],
  live: ["feed", "query", "watch", "settled"],
  observer: ["hint", "session", "registry", "load", "queue", "scan", "run", "worker"],
  coordinator: ["protos", "wire", "security", "membership", "client", "server"],
  schema: ["value", "key"],
  database: ["coordination", "collection"],
  postgres: ["attach/table", "attach/changes", "attach/copy", "attach", "views"],
  recipes: ["queue", "lookup", "time", "derive"],
  testing: [
    "world",
    "kit",
    "invariants",
    "history",
    "history/record",
    "history/check",
    "exploration",
    "simulation/world",
    "simulation/plan",
    "simulation/network",
    "simulation/process",
    "simulation",
    "conformance",
  ],
  cli: [
    "print",
    "input",
    "database",
    "worker",
    "dump",
    "rows",
    "doctor",
    "bench",
    "completion",
    "commands/data",
    "commands/operate",
    "commands/serve",
    "commands/setup",
    "commands/sql",
  ],
};

interface SourceFile {
  readonly path: string;
  readonly text: string;
  readonly isTest: boolean;
}

const files: readonly SourceFile[] = readdirSync(source, { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".ts"))
  .map((path) => ({
    path,
    text: readFileSync(join(source, path), "utf8"),
    isTest: path.endsWith(".test.ts"),
  }));

function roomOf(path: string): string | undefined {
  const nested = rooms.filter((room) => path.startsWith(`${room}/`));
  return nested.sort((a, b) => b.length - a.length)[0];
}

/** Removes comments that begin a line. In a line, a string may have what looks like the beginning of one. */
function withoutComments(text: string): string {
  return text.replace(/^\s*(\/\*[\s\S]*?\*\/|\/\/.*$)/gm, "");
}

function imports(file: SourceFile): readonly string[] {
  const pattern = /(?:from\s+|import\s*\(\s*|^import\s+)"([^"]+)"/gm;
  return [...withoutComments(file.text).matchAll(pattern)].map((match) => match[1]!);
}

describe("rooms", () => {
  test("every file is in a room, or is the public surface", () => {
    const outside = files.filter((file) => roomOf(file.path) === undefined && file.path !== "index.ts");
    expect(outside.map((file) => file.path)).toEqual([]);
  });

  test("no files import each other in a cycle, except the clock of tests and its processes", () => {
    const known = new Map(files.map((file) => [file.path, file]));
    const below = (file: SourceFile) =>
      imports(file)
        .filter((each) => each.startsWith("."))
        .map((each) =>
          known.get(relative(source, resolve(source, dirname(file.path), each)).replace(/\.js$/, ".ts")),
        )
        .filter((each) => each !== undefined);
    const done = new Set<SourceFile>();
    const circles: string[] = [];
    const visit = (file: SourceFile, way: readonly SourceFile[]) => {
      if (way.includes(file))
        circles.push([...way.slice(way.indexOf(file)), file].map(({ path }) => path).join(" > "));
      if (done.has(file) || way.includes(file)) return;
      for (const each of below(file)) visit(each, [...way, file]);
      done.add(file);
    };
    for (const file of files.filter(({ isTest }) => !isTest)) visit(file, []);
    expect(circles.filter((circle) => !circle.startsWith("testing/kit/"))).toEqual([]);
  });

  test("one function loads optional peers, by a name that bundlers do not see", () => {
    const loading = files.filter(({ text, isTest }) => !isTest && text.includes("createRequire("));
    expect(loading.map(({ path }) => path)).toEqual(["errors/require-package.ts"]);
  });

  test("code that only tests need is with the tests", () => {
    const shipped = files.filter(({ isTest }) => !isTest);
    const wrong = shipped.filter((file) => {
      const targets = imports(file).filter((each) => each.startsWith("."));
      const paths = targets.map((each) => relative(source, resolve(source, dirname(file.path), each)));
      return (
        /(^|\/)test-/.test(file.path) ||
        paths.some((path) => path.startsWith("..") && !path.endsWith(".json"))
      );
    });
    expect(wrong.map((file) => file.path)).toEqual([]);
  });

  test("a room imports only from itself and from rooms before it", () => {
    const wrong: string[] = [];
    for (const file of files.filter((each) => !each.isTest && each.path !== "index.ts")) {
      const room = roomOf(file.path)!;
      for (const target of imports(file).filter((each) => each.startsWith("."))) {
        const path = relative(source, resolve(source, dirname(file.path), target));
        const targetRoom = roomOf(path);
        const earlier = targetRoom !== undefined && rooms.indexOf(targetRoom) <= rooms.indexOf(room);
        // Recipes show what the public surface can do, so they use nothing else.
        const allowed = room === "recipes" ? path === "index.js" || targetRoom === room : earlier;
        if (!allowed) wrong.push(`${file.path} imports ${target}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  test.each(Object.entries(innerRooms))(
    "within %s a room imports only from rooms before it",
    (outer, inner) => {
      const innerOf = (path: string) => dirname(relative(outer, path));
      const inOuter = files.filter((file) => roomOf(file.path) === outer);
      expect(new Set(inOuter.map(({ path }) => innerOf(path)))).toEqual(new Set([".", ...inner]));
      const wrong: string[] = [];
      // Index files are left out, because they name the files of inner rooms.
      const inRooms = inOuter.filter(({ path, isTest }) => !isTest && basename(path) !== "index.ts");
      for (const file of inRooms.filter(({ path }) => innerOf(path) !== ".")) {
        for (const target of imports(file).filter((each) => each.startsWith("."))) {
          const path = relative(source, resolve(source, dirname(file.path), target));
          if (roomOf(path) !== outer || innerOf(path) === ".") continue;
          if (inner.indexOf(innerOf(path)) > inner.indexOf(innerOf(file.path))) {
            wrong.push(`${file.path} imports ${target}`);
          }
        }
      }
      expect(wrong).toEqual([]);
    },
  );

  test("the stores do not know each other", () => {
    const stores = rooms.filter((room) => room.startsWith("store/"));
    const wrong = files
      .filter((file) => stores.includes(roomOf(file.path) ?? "") && !file.isTest)
      .flatMap((file) => imports(file).map((target) => [file.path, target] as const))
      .filter(([path, target]) => {
        const resolved = relative(source, resolve(source, dirname(path), target));
        const targetRoom = target.startsWith(".") ? roomOf(resolved) : undefined;
        return targetRoom !== undefined && stores.includes(targetRoom) && targetRoom !== roomOf(path);
      });
    expect(wrong).toEqual([]);
  });

  test("live/client, which runs in browsers, imports only types from other rooms, and nothing of Node", () => {
    const allowed = ["preact/hooks", "react"];
    const wrong = files
      .filter((file) => roomOf(file.path) === "live/client" && !file.isTest)
      .flatMap((file) =>
        [...withoutComments(file.text).matchAll(/^(?:import|export) (?!type\b)[^;]*?from "([^"]+)"/gm)]
          .map(([, target]) => target!)
          .filter((target) => !target.startsWith("./") && !allowed.includes(target))
          .map((target) => `${file.path} imports ${target}`),
      );
    expect(wrong).toEqual([]);
  });

  test("rooms are imported through their index, except the stores, which are loaded on use", () => {
    const wrong: string[] = [];
    for (const file of files.filter((each) => !each.isTest && each.path !== "index.ts")) {
      for (const target of imports(file).filter((each) => each.startsWith("."))) {
        const path = relative(source, resolve(source, dirname(file.path), target));
        const room = roomOf(path);
        if (room === roomOf(file.path) || room === undefined) continue;
        const insideOwnContract = room === "store" && roomOf(file.path)?.startsWith("store/");
        if (!insideOwnContract && path !== `${room}/index.js`) wrong.push(`${file.path} imports ${target}`);
      }
    }
    expect(wrong).toEqual([]);
  });
});

describe("habits", () => {
  const habits = [
    {
      habit: "time comes from the environment",
      pattern: /\bDate\.now\b|\bnew Date\(\)|\bperformance\.(now|timeOrigin)\b|\bprocess\.(hrtime|uptime)\b/,
      except: ["environment"],
    },
    {
      habit: "randomness comes from the environment",
      pattern: /\bMath\.random\b|\brandomUUID\b|\brandomBytes\b|\bgetRandomValues\b/,
      except: ["environment", "live/client"],
    },
    {
      habit: "timers come from the environment",
      pattern: /\b(setTimeout|setInterval|setImmediate)\s*\(|AbortSignal\.timeout\b|node:timers/,
      except: ["environment", "live/client"],
    },
    {
      habit: "only the command line prints",
      pattern: /\bconsole\.\w+|process\.(stdout|stderr)\b/,
      except: ["cli"],
    },
    { habit: "no signal is lost to the garbage collector", pattern: /\bAbortSignal\.any\b/, except: [] },
    { habit: "no default exports", pattern: /^export default\b/m, except: [] },
    { habit: "nothing is left for later", pattern: /\b(TODO|FIXME|XXX)\b|not implemented/i, except: [] },
  ];

  test.each(habits)("$habit", ({ pattern, except }) => {
    const broken = files
      .filter((file) => !file.isTest && !except.some((room) => roomOf(file.path) === room))
      .filter((file) => pattern.test(withoutComments(file.text)))
      .map((file) => file.path);
    expect(broken).toEqual([]);
  });

  test("the patterns match what they should", () => {
    const samples = [
      "Date.now()",
      "Math.random()",
      "setTimeout(f)",
      "console.log(1)",
      "AbortSignal.any([one, other])",
      "export default 1",
      "TODO",
    ];
    for (const [index, { pattern }] of habits.entries()) expect(pattern.test(samples[index]!)).toBe(true);
  });
});
