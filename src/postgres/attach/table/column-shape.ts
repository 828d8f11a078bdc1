/**
 * Number and type of a column, as an attachment records them: `3 numeric(10,2)`, `4 shop.mood[]`.
 * `f`, `t` and `n` are rows of `pg_attribute`, `pg_type` and `pg_namespace`.
 *
 * The server shows a type's schema only if the session's `search_path` does not have it, and quotes as
 * `quote_all_identifiers` says. Here all types but PostgreSQL's own have their schema, and nothing has
 * quotes, so that each session shows the same. The length of `varchar` may change, so it is left out.
 */
export function columnShape(f: string, t: string, n: string): string {
  const shown = `format_type(${f}.atttypid, ${f}.atttypmod)`;
  const schema = `quote_ident(${n}.nspname) || '.'`;
  return `${f}.attnum || ' ' || replace(case
      when ${n}.nspname = 'pg_catalog' and ${t}.typname = 'varchar' then 'varchar'
      when ${n}.nspname = 'pg_catalog' then regexp_replace(${shown}, '^"?pg_catalog"?[.]', '')
      when starts_with(${shown}, ${schema}) then ${shown}
      else ${schema} || ${shown} end, '"', '')`;
}

/** Number and type of a {@link columnShape}. */
export function partsOfShape(shape: string): readonly [number: string, type: string] {
  const at = shape.indexOf(" ");
  return [shape.slice(0, at), shape.slice(at + 1)];
}

/**
 * Whether a type is the recorded one. Earlier versions recorded a type as their session showed it, so it
 * may have quotes, and lack its schema.
 */
export function isSameType(before: string, now: string, hasTypeSchemas: boolean): boolean {
  if (hasTypeSchemas) return before === now;
  const shown = before.replaceAll('"', "").replace(/^pg_catalog\./, "");
  return shown === now || now.endsWith(`.${shown}`);
}
