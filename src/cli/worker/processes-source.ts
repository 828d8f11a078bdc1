import type { Report, ReportRequest, ReportSource } from "../../dashboard/index.js";
import type { WorkerProcess } from "./worker-process.js";

/** What the processes of a supervised worker have seen. */
export class ProcessesSource implements ReportSource {
  readonly name = "the processes of this worker";
  readonly #running: () => Iterable<WorkerProcess>;

  constructor(running: () => Iterable<WorkerProcess>) {
    this.#running = running;
  }

  /** One that ends, or does not answer, is left out. */
  async reports(request: ReportRequest, signal: AbortSignal): Promise<readonly Report[]> {
    const asked = [...this.#running()].map((process) => process.ask(request, signal));
    const answers = await Promise.allSettled(asked);
    return answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value as Report] : []));
  }
}
