-- One row for each index table that is whole: it is written by the transaction
-- that made the table, so a table without a row was never finished.
create table {{.schema}}.index_manifests (
	key             text primary key,
	table_name      text not null unique,
	kind            text not null,
	rows            bigint not null check (rows >= 0),
	params          jsonb not null,
	build_settings  jsonb not null,
	heap_bytes      bigint not null check (heap_bytes >= 0),
	index_bytes     bigint not null check (index_bytes >= 0),
	created_at      timestamptz not null default now(),
	raglab_version  text not null
);

comment on table {{.schema}}.index_manifests is
	'What raglab built here: one row for each of its index tables';
comment on column {{.schema}}.index_manifests.key is
	'Content key of the index stage, 64 hexadecimal digits';
comment on column {{.schema}}.index_manifests.build_settings is
	'Settings of the transaction that built the index, as the server had them';
comment on column {{.schema}}.index_manifests.heap_bytes is
	'pg_relation_size of the table and of the table its long values are moved to';
comment on column {{.schema}}.index_manifests.index_bytes is
	'Sum of pg_relation_size over the indexes of the table';
