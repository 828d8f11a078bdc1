import type { TransactionShown } from "../../../../src/dashboard/api/index.js";
import { apiPath } from "../../api/client.js";
import { overview } from "../../api/stream.js";
import { useApi } from "../../api/use-api.js";
import { duration } from "../../format/times.js";
import { Word } from "../../parts/mark.js";
import { SinceText } from "../../parts/since-text.js";
import { past } from "../../state/past.js";
import { useStore } from "../../state/store.js";
import { maxListed, nameOf, troublesOf } from "./worst.js";

const everyMs = 5_000;

const pathOf = (list: "failed" | "conflicts" | "slow", most = maxListed) =>
  apiPath("transactions", { list, limit: most });

/** In a few lines: what is wrong with the transactions of the last minutes, since when, how bad, what to do. */
export function WorstLines() {
  const now = useStore(overview);
  const moments = useStore(past);
  const [failed, conflicts, slow] = [
    useApi<readonly TransactionShown[]>(pathOf("failed"), everyMs).data,
    useApi<readonly TransactionShown[]>(pathOf("conflicts"), everyMs).data,
    useApi<readonly TransactionShown[]>(pathOf("slow", 1), everyMs).data,
  ];
  if (now === undefined || failed === undefined || conflicts === undefined || slow === undefined) return null;
  const troubles = troublesOf({ failed, conflicts, slow }, now, moments);
  const [slowest] = slow;
  if (troubles.length === 0 && slowest === undefined) return null;
  return (
    <section class="panel worst-panel" aria-label="What is wrong">
      <ul class="wrong worst">
        {troubles.map(({ kind, level, since, why, remedy, href }) => (
          <li key={kind} data-worst={kind}>
            <Word level={level}>{kind}</Word>{" "}
            <p>
              <SinceText since={since} />
              {since === undefined ? "" : ", "}
              {why}
            </p>{" "}
            <p class="remedy">
              <a href={href}>{remedy}</a>
            </p>
          </li>
        ))}
        {troubles.length > 0 || slowest === undefined ? null : (
          <li data-worst="none">
            <Word level="ok">fine</Word>{" "}
            <p>
              No known transaction of the last five minutes failed or conflicted. The longest took{" "}
              {duration(slowest.durationMs)}: {nameOf(slowest)}.
            </p>
          </li>
        )}
      </ul>
    </section>
  );
}
