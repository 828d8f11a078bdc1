import { quoteText } from "./names.js";

/** The least time between two wake-ups of all processes of a schema, in microseconds. */
const gap = 15_000;

/** The functions that wake other processes. See `WakeUps`. The sequence `woken` is the time of the last wake-up. */
export function wakeFunctions(s: string): string {
  return `
-- The name of this schema's channel.
create or replace function ${s}.wake_channel() returns text language sql stable as $percolatordb$
  select 'percolatordb ' || ${quoteText(`${s}.woken`)}::regclass::oid
$percolatordb$;

-- Wakes the processes that listen, unless a wake-up was sent a moment ago: then it returns how many milliseconds to
-- wait before the next call. Also returns the time. If the call has sent a wake-up, 'woken' has that time.
-- 'since' is null. Earlier versions gave the time that an earlier call returned: a wake-up after it was enough.
create or replace function ${s}.wake_others(sender text, since int8, out wait int4, out at int8) language plpgsql as $percolatordb$
declare
  woken int8;
begin
  at := (extract(epoch from clock_timestamp()) * 1000000)::int8;
  select last_value into woken from ${s}.woken;
  if woken between since and at then return; end if;
  if woken between at - ${gap} and at then wait := 1 + (${gap} - (at - woken)) / 1000; return; end if;
  -- Who holds the lock is about to send a wake-up, after this commit.
  if not pg_try_advisory_xact_lock(1885565541, (${quoteText(`${s}.woken`)}::regclass::oid::int8 - 2147483648)::int4) then return; end if;
  perform set_config('synchronous_commit', 'off', true);
  perform setval(${quoteText(`${s}.woken`)}, at);
  perform pg_notify(${s}.wake_channel(), sender);
end $percolatordb$;
`;
}
