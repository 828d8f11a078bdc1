/**
 * The web index in PostgreSQL: the same tables with the same contents as
 * `examples/webindex/tables.ts`, as rows and columns, and a list of due keys for each task. The
 * rows of that list are not unique. So transactions that find the same key due do not wait for each
 * other, as they would with unique job keys.
 */
export const schema = `
  create table documents (
    url text collate "C" primary key, contents bytea, hash text, title text, words text, links jsonb,
    truncated text, inverted jsonb, rank int, cluster text, anchors jsonb, terms text
  );
  alter table documents alter contents set storage external;
  create table members (
    hash text collate "C", key text collate "C", rank int not null, primary key (hash, key)
  );
  create table clusters (hash text collate "C" primary key, canonical text);
  create table links (
    target text collate "C", source text collate "C", anchor text not null, primary key (target, source)
  );
  create table postings (
    shard text collate "C", bucket text collate "C", documents bytea not null, primary key (shard, bucket)
  );
  alter table postings alter documents set storage external;
  create table shards (shard text collate "C" primary key, lengths bytea, statistics jsonb);
  alter table shards alter lengths set storage external;
  create table pending (
    shard text collate "C", id text collate "C", url text not null, terms text not null, now jsonb, merged jsonb,
    primary key (shard, id)
  );
  create table urls (shard text collate "C", id text collate "C", url text not null, primary key (shard, id));
  create table due (id bigserial primary key, task text not null, key text collate "C" not null);
  create index on due (task, id);
  create index on due (task, key);
`;

/**
 * Settings of a durable server that has a machine of this size to itself, as its documentation and
 * pgtune recommend. Tables are analysed every second. If the planner does not know that the queue
 * has filled, it sorts all jobs to take one.
 */
export const settings = [
  "shared_buffers=2GB",
  "effective_cache_size=8GB",
  "work_mem=32MB",
  "maintenance_work_mem=256MB",
  "max_wal_size=8GB",
  "min_wal_size=1GB",
  "wal_buffers=16MB",
  "checkpoint_timeout=15min",
  "checkpoint_completion_target=0.9",
  "random_page_cost=1.1",
  "effective_io_concurrency=200",
  "default_toast_compression=lz4",
  "wal_compression=lz4",
  "max_connections=100",
  "jit=off",
  "autovacuum_naptime=1s",
] as const;
