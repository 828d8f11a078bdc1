import type { ScheduleOverview } from "../../../../src/dashboard/api/index.js";
import { bounded, none } from "../../format/numbers.js";
import { duration } from "../../format/times.js";
import { Word } from "../../parts/mark.js";
import { healthOfSchedule } from "../../state/health.js";

/**
 * Each schedule, with the changes that should have fired by now. Shows nothing if the database has
 * no schedules.
 */
export function Schedules({ schedules }: { readonly schedules: readonly ScheduleOverview[] }) {
  if (schedules.length === 0) return null;
  return (
    <section class="panel" aria-labelledby="schedules">
      <div class="panel-head">
        <h2 id="schedules">Schedules</h2>
        <p class="faint">changes that should have fired by now, and have not</p>
      </div>
      <table class="stack freshness">
        <thead>
          <tr>
            <th scope="col">Schedule</th>
            <th scope="col">State</th>
            <th scope="col" class="number">
              Overdue
            </th>
            <th scope="col" class="number">
              Oldest was due
            </th>
          </tr>
        </thead>
        <tbody>
          {schedules.map((schedule) => (
            <ScheduleRow key={schedule.name} schedule={schedule} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

function ScheduleRow({ schedule }: { readonly schedule: ScheduleOverview }) {
  const { name, overdue, oldestOverdueMs } = schedule;
  const { level, word, why } = healthOfSchedule(schedule);
  return (
    <tr class={level} data-schedule={name}>
      <th scope="row">{name}</th>
      <td data-label="State" title={why}>
        <Word level={level}>{word}</Word>
      </td>
      <td data-label="Overdue" class="number">
        {bounded(overdue)}
      </td>
      <td data-label="Oldest was due" class="number strong">
        {oldestOverdueMs === undefined ? none : `${duration(oldestOverdueMs)} ago`}
      </td>
    </tr>
  );
}
