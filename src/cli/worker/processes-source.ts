import type { Report, ReportRequest, ReportSource } from "../../dashboard/index.js";
import type { WorkerProcess } from "./worker-process.js";

/** Collects the dashboard reports of a supervised worker's processes. */
export class ProcessesSource implements ReportSource {
  readonly name = "the processes of this worker";
  readonly #running: () => Iterable<WorkerProcess>;

  constructor(running: () => Iterable<WorkerProcess>) {
    this.#running = running;
  }

  /** Returns the reports of the processes that answer, without those that end or fail to answer. */
  async reports(request: ReportRequest, signal: AbortSignal): Promise<readonly Report[]> {
    const asked = [...this.#running()].map((process) => process.ask(request, signal));
    const answers = await Promise.allSettled(asked);
    return answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value as Report] : []));
  }
}
