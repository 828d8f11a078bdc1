import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Candidate, candidatesOf } from "./candidates.js";
import { folders } from "./rooms.js";
import { Copy, type CopyOptions, type Verdict } from "./run.js";

const own = fileURLToPath(new URL("../../", import.meta.url));

/** The only source file of a small project. */
export const sourcePath = "src/oracle/count.ts";
const source = `
export function isFew(count: number): boolean {
  if (count < 3) return true;
  return false;
}
`;

/** A project with one source file and the given tests, in a temporary folder. */
export class SmallProject implements AsyncDisposable {
  /**
   * The folder to which tests and programs of the project may write. It contains the copies too.
   */
  readonly temporary: string;
  readonly root: string;

  private constructor(folder: string) {
    this.root = join(folder, "project");
    this.temporary = join(folder, "temporary");
  }

  static async of(files: Readonly<Record<string, string>>): Promise<SmallProject> {
    const project = new SmallProject(await mkdtemp(join(tmpdir(), "percolator-small-")));
    const all = {
      "package.json": '{ "type": "module" }',
      "tsconfig.build.json":
        '{ "compilerOptions": { "strict": true, "types": [], "lib": ["ES2023"], "skipLibCheck": true }, "include": ["src"], "exclude": ["**/*.test.ts"] }',
      "vitest.config.ts":
        'export default { test: { isolate: false, pool: "forks", include: ["**/*.test.ts"] } };',
      [sourcePath]: source,
      ...files,
    };
    await mkdir(project.temporary, { recursive: true });
    for (const folder of [...folders, "test"]) await mkdir(join(project.root, folder), { recursive: true });
    for (const [path, text] of Object.entries(all)) {
      await mkdir(dirname(join(project.root, path)), { recursive: true });
      await writeFile(join(project.root, path), text);
    }
    await symlink(join(own, "node_modules"), join(project.root, "node_modules"), "junction");
    return project;
  }

  /** Commits everything in Git, because results name their commit. */
  commit(): void {
    const git = (...args: readonly string[]) =>
      execFileSync("git", ["-c", "user.name=Test", "-c", "user.email=test@example.com", ...args], {
        cwd: this.root,
        stdio: "ignore",
      });
    git("init");
    git("add", "src");
    git("commit", "--message", "Small");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(dirname(this.root), { recursive: true, force: true });
  }
}

/** A mutant with an off-by-one error in `>= 3`. */
export function offByOne(): Candidate {
  return candidatesOf(sourcePath, source).find(({ kind }) => kind === "off by one")!;
}

/** Judges that mutant by the tests of a small project. */
export async function judged(
  files: Readonly<Record<string, string>>,
  options: Partial<CopyOptions> = {},
): Promise<{ readonly verdict: Verdict; readonly reports: readonly string[] }> {
  await using project = await SmallProject.of(files);
  await using copy = await Copy.of(project.root, { signal: new AbortController().signal, ...options });
  const reports: string[] = [];
  const verdict = await copy.judge(offByOne(), [{ name: "near", tests: ["src/oracle"] }], (text) =>
    reports.push(text),
  );
  return { verdict, reports };
}
