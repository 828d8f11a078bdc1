/** Runs the web index once, on a task that the parent process sends, and sends back what it came to. */
import { openDefaultSource, openSource } from "../examples/webindex/sources/index.js";
import { WebIndex } from "../examples/webindex/webindex.js";
import { endWithParent } from "../test/support/end-with-parent.js";

export interface PipelineTask {
  /** An empty folder for the database. */
  readonly data: string;
  /** What to load; undefined for the documentation under `node_modules`. */
  readonly source: string | undefined;
}

export interface PipelineReport {
  readonly ms: number;
  readonly pages: number;
  readonly live: number;
  readonly commits: number;
  readonly cells: number;
  /** What is wrong with the index; none where it is sound. */
  readonly problems: readonly string[];
}

async function run({ data, source: path }: PipelineTask): Promise<PipelineReport> {
  const source = path === undefined ? await openDefaultSource(process.cwd()) : await openSource(path);
  await using index = await WebIndex.open(data);
  const started = performance.now();
  const { pages } = await index.load(source);
  await index.settle();
  const ms = performance.now() - started;
  const { commits, cellsCommitted } = index.metrics;
  const { live } = await index.count();
  const problems = [
    ...(await index.parked()),
    ...(await index.db.check()).map((problem) => JSON.stringify(problem)),
  ];
  return { ms, pages, live, commits, cells: cellsCommitted, problems };
}

endWithParent();

process.once("message", (task: PipelineTask) => {
  run(task).then(
    (report) => process.send?.(report, () => process.disconnect()),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
});
