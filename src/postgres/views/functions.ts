import { quoteText } from "../../store/postgres/index.js";

/**
 * How functions of keys are declared. A block does not catch what its own declarations raise, so
 * those are in an inner block. A block with an exception is a subtransaction, which parallel workers
 * and their leader cannot start.
 */
const keyHead = "immutable strict parallel unsafe language plpgsql";

// Each session reads the bodies by its own `standard_conforming_strings`, so literals with a backslash are E'...'.
const byte = (value: number) => `${quoteText(`\\x0${value}`)}::bytea`;
/** The escapes in JSON that `jsonb` refuses. */
const unfit = quoteText(String.raw`((?:^|[^\\])(?:\\\\)*)\\u(?:0000|d[89a-f][0-9a-f]{2})`);

/**
 * The functions with which views decode keys and values, in the database's own schema, as a script
 * that may be repeated. A reader of a view calls them with its own privileges and without `USAGE` on
 * the schema, so none names another one.
 *
 * Those of keys are in the expressions of an index. They return NULL for bytes that are no key: an
 * error would make the commit fail.
 */
export function viewFunctions(s: string): string {
  const head = "immutable strict parallel safe language plpgsql";
  return `
-- The place of a part of a key, from 1, after the parts before it: t text, b bytes, i int, f float, o boolean.
create or replace function ${s}.view_key_at(key bytea, before text) returns int ${keyHead} as $f$
declare place int := 1;
begin
  for i in 1..length(before) loop
    case substr(before, i, 1)
      when 'i' then place := place + 1 + abs(get_byte(key, place - 1) - 128);
      when 'f' then place := place + 8;
      when 'o' then place := place + 1;
      else place := place + position(${byte(0)} in substr(key, place));
    end case;
  end loop;
  return place;
exception when others then return null;
end $f$;

-- A key that is one text.
create or replace function ${s}.view_key(key bytea) returns text ${keyHead} as $f$
begin
  if position(${byte(0)} in key) > 0 then
    key := decode(replace(replace(regexp_replace(encode(key, 'hex'), '(..)', ${quoteText(String.raw`x\1`)}, 'g'), 'x00', 'xefbfbd'), 'x', ''), 'hex');
  end if;
  return convert_from(key, 'UTF8');
exception when others then return null;
end $f$;

${keyPart(`${s}.view_key_text`, "text", "xefbfbd", "convert_from(part, 'UTF8')")}

${keyPart(`${s}.view_key_bytes`, "bytea", "x00", "part")}

create or replace function ${s}.view_key_int(key bytea, place int) returns int8 ${keyHead} as $f$
begin
  declare
  size int := get_byte(key, place - 1) - 128;
  bits int8 := case when size = 0 then 0
    else ('x' || lpad(encode(substr(key, place + 1, abs(size)), 'hex'), 16, '0'))::bit(64)::int8 end;
begin
  return case when size >= 0 then bits else -(bits # ((1::int8 << (8 * -size)) - 1)) end;
end;
exception when others then return null;
end $f$;

create or replace function ${s}.view_key_float(key bytea, place int) returns float8 ${keyHead} as $f$
begin
  declare
  raw int8 := ('x' || encode(substr(key, place, 8), 'hex'))::bit(64)::int8;
  bits int8 := case when raw < 0 then raw # (-9223372036854775808)::int8 else ~raw end;
  power int := (bits >> 52) & 2047;
  fraction int8 := bits & 4503599627370495;
  size float8 := case when power = 2047 then 'Infinity'
    when power = 0 then fraction::float8 * power(2::float8, -1074)
    else (fraction + 4503599627370496)::float8 * power(2::float8, power - 1075) end;
begin
  return case when bits < 0 then -size else size end;
end;
exception when others then return null;
end $f$;

create or replace function ${s}.view_key_boolean(key bytea, place int) returns boolean ${keyHead} as $f$
begin
  return get_byte(key, place - 1) = 2;
exception when others then return null;
end $f$;

create or replace function ${s}.view_text(value bytea) returns text ${head} as $f$
begin
  if position(${byte(0)} in value) > 0 then
    value := decode(replace(replace(regexp_replace(encode(value, 'hex'), '(..)', ${quoteText(String.raw`x\1`)}, 'g'), 'x00', 'xefbfbd'), 'x', ''), 'hex');
  end if;
  return convert_from(value, 'UTF8');
end $f$;

create or replace function ${s}.view_int(value bytea) returns int8 ${head} as $f$
declare
  size int := get_byte(value, 0) - 128;
  bits int8 := case when size = 0 then 0 else ('x' || lpad(encode(substr(value, 2), 'hex'), 16, '0'))::bit(64)::int8 end;
begin
  return case when size >= 0 then bits else -(bits # ((1::int8 << (8 * -size)) - 1)) end;
end $f$;

create or replace function ${s}.view_float(value bytea) returns float8 ${head} as $f$
declare
  bits int8 := ('x' || encode(value, 'hex'))::bit(64)::int8;
  power int := (bits >> 52) & 2047;
  fraction int8 := bits & 4503599627370495;
  size float8 := case when power = 2047 and fraction <> 0 then 'NaN' when power = 2047 then 'Infinity'
    when power = 0 then fraction::float8 * power(2::float8, -1074)
    else (fraction + 4503599627370496)::float8 * power(2::float8, power - 1075) end;
begin
  return case when bits < 0 then -size else size end;
end $f$;

-- A moment before 4713 BC, which no timestamptz can be, is -infinity.
create or replace function ${s}.view_date(value bytea) returns timestamptz ${head} as $f$
declare
  size int := get_byte(value, 0) - 128;
  bits int8 := case when size = 0 then 0 else ('x' || lpad(encode(substr(value, 2), 'hex'), 16, '0'))::bit(64)::int8 end;
  ms int8 := case when size >= 0 then bits else -(bits # ((1::int8 << (8 * -size)) - 1)) end;
  days int8 := floor(ms::numeric / 86400000);
begin
  if days < -2440587 then return '-infinity'; end if;
  return timezone('UTC', timestamp '1970-01-01' + days * interval '1 day' + (ms - days * 86400000) * interval '1 millisecond');
end $f$;

-- An integer of more than 4,096 bytes is Infinity or -Infinity: numeric would be slow, or too small.
create or replace function ${s}.view_bigint(value bytea) returns numeric ${head} as $f$
declare
  whole numeric := case when get_byte(value, 0) >= 128 then -1 else 0 end;
  at int := 1; size int := octet_length(value); piece int;
begin
  if size > 4096 then return case when whole < 0 then '-Infinity' else 'Infinity' end; end if;
  while at <= size loop
    piece := least(7, size - at + 1);
    whole := whole * (1::int8 << (8 * piece)) + ('x' || lpad(encode(substr(value, at, piece), 'hex'), 16, '0'))::bit(64)::int8;
    at := at + piece;
  end loop;
  return whole;
end $f$;

-- A value of a version above 1 begins with "v", the version and ":". The view shows the stored shape.
-- NUL and lone surrogates, which jsonb refuses, become U+FFFD. JSON text has them only as escapes.
create or replace function ${s}.view_json(value bytea) returns jsonb ${head} as $f$
declare held text := convert_from(value, 'UTF8');
begin
  if held like 'v%' then held := substr(held, strpos(held, ':') + 1); end if;
  if held ~ ${quoteText(String.raw`\\u(0000|d[89a-f])`)} then
    held := regexp_replace(held, ${unfit}, ${quoteText(String.raw`\1`)} || chr(65533), 'g');
    held := regexp_replace(held, ${unfit}, ${quoteText(String.raw`\1`)} || chr(65533), 'g');
  end if;
  return held::jsonb;
end $f$;

-- What a lock says (docs/protocol.md, section 1): its primary, and the value if it is in the lock.
create or replace function ${s}.view_lock(lock bytea, out tbl text, out "row" bytea, out col bytea, out value bytea) ${head} as $f$
declare pieces bytea[] := '{}'; at int := 22; size int; many int;
begin
  for i in 1..4 loop
    size := get_byte(lock, at - 1) * 256 + get_byte(lock, at);
    pieces := pieces || substr(lock, at + 2, size);
    at := at + 2 + size;
  end loop;
  tbl := convert_from(pieces[2], 'UTF8'); "row" := pieces[3]; col := pieces[4];
  many := ('x' || encode(substr(lock, at, 4), 'hex'))::bit(32)::int4;
  at := at + 4;
  for i in 1..many loop
    at := at + 2 + get_byte(lock, at - 1) * 256 + get_byte(lock, at);
  end loop;
  if get_byte(lock, 8) = 0 then value := substr(lock, at); end if;
end $f$;
`;
}

/** A function that decodes the part of a tuple that begins at a place: `zero` stands for a zero byte. */
function keyPart(name: string, type: "text" | "bytea", zero: string, decoded: string): string {
  return `create or replace function ${name}(key bytea, place int) returns ${type} ${keyHead} as $f$
begin
  declare part bytea := substr(key, place, position(${byte(0)} in substr(key, place)) - 1);
begin
  if position(${byte(1)} in part) > 0 then
    part := decode(replace(replace(replace(regexp_replace(encode(part, 'hex'), '(..)', ${quoteText(String.raw`x\1`)}, 'g'),
      'x01x01', '${zero}'), 'x01x02', 'x01'), 'x', ''), 'hex');
  end if;
  return ${decoded};
end;
exception when others then return null;
end $f$;`;
}
