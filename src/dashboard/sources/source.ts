import type { Report, ReportRequest } from "../recording/report.js";

/** Who tells what processes have seen. */
export interface ReportSource {
  /** For messages. */
  readonly name: string;
  /** What each of the processes behind it has seen. */
  reports(request: ReportRequest, signal: AbortSignal): Promise<readonly Report[]>;
  close?(): void;
}
