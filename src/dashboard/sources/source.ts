import type { Report, ReportRequest } from "../recording/report.js";

/** A source of reports about what processes have seen. */
export interface ReportSource {
  /** Its name in messages. */
  readonly name: string;
  /** One report for each process behind the source. */
  reports(request: ReportRequest, signal: AbortSignal): Promise<readonly Report[]>;
  close?(): void;
}
