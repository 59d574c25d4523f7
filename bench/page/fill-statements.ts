/** The statements of fill-page-store.ts. */

const at = (ms: string) => `to_timestamp(${ms}::float8 / 1000)`;

/** $1 names, $2 when they were made, in seconds. */
export const insertNamespaces = `
  INSERT INTO namespaces (name, created_at) SELECT n, to_timestamp($2) FROM unnest($1::text[]) AS n
  ON CONFLICT (name) DO UPDATE SET created_at = excluded.created_at`;

/** $1 how many, $2 handlers, $3 now. Dead ones, as they are kept for a while: a living one would be missed by the engine. */
export const insertWorkers = `
  INSERT INTO workers (worker_id, node_id, incarnation, slots, handlers, dead, last_seen_at, name)
  SELECT 'host-' || n || '.1.1', gen_random_uuid(), 1, 100, $2::text[], true, $3::bigint, 'host-' || n FROM generate_series(0, $1::int - 1) AS n`;

export const makeTemplates = 'CREATE TABLE bench_templates AS SELECT 0 AS n, j.* FROM jobs j WHERE false';

/** $1 the jobs that are templates, in order. */
export const takeTemplates = [
  `INSERT INTO bench_templates SELECT u.n - 1, j.* FROM unnest($1::uuid[]) WITH ORDINALITY AS u(job_id, n) JOIN jobs j USING (job_id)`,
  `DELETE FROM jobs WHERE job_id = ANY($1::uuid[])`,
  `DELETE FROM due WHERE job_id = ANY($1::uuid[])`,
  `DELETE FROM cursors WHERE job_id = ANY($1::uuid[])`,
];

const copied = [
  'cron_expression',
  'time_zone',
  'schedule',
  'misfire',
  'payload',
  'priority',
  'max_retries',
  'retry',
  'max_concurrency',
  'overlap',
  'timeout_ms',
  'schedule_type',
];

/**
 * $1 ids, $2 names, $3 templates, $4 states, $5 namespaces, $6 handlers, $7 owners, $8 labels, $9 made, $10 shards, $11 instants, $12 parts,
 * $13 keys of handlers, $14 tenants, $15 keys.
 */
export const insertJobs = `
  WITH data AS MATERIALIZED (
    SELECT d.*, t.timeout_ms, t.priority FROM unnest($1::uuid[], $2::text[], $3::int[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::bigint[],
      $10::smallint[], $11::bigint[], $12::smallint[], $13::int[], $14::bigint[], $15::text[])
      AS d(job_id, name, template, status, namespace, handler, user_id, labels, made, shard, at, part, handler_key, tenant, key)
    JOIN bench_templates t ON t.n = d.template
  ), saved AS (
    INSERT INTO jobs (job_id, name, status, namespace, handler, user_id, labels, created_at, updated_at, shard, schedule_time, key,
      ${copied.join(', ')})
    SELECT d.job_id, d.name, d.status, d.namespace, d.handler, d.user_id, d.labels::jsonb, ${at('d.made')}, ${at('d.made')}, d.shard,
      CASE WHEN d.template = 2 THEN ${at('d.at')} END, d.key, ${copied.map((name) => `t.${name}`).join(', ')}
    FROM data d JOIN bench_templates t ON t.n = d.template
  ), made AS (
    INSERT INTO audit_log (at, actor_kind, actor_id, actor_name, action, namespace, subject_kind, subject_id, after)
    SELECT ${at('d.made')}, 'user', coalesce(d.user_id, 'nobody'), 'somebody', 'jobs.create', d.namespace, 'job', d.job_id::text,
      jsonb_build_object('name', d.name, 'version', 1)
    FROM data d
  ), planned AS (
    INSERT INTO cursors (job_id, fire_at, nominal_at, job_version, shard, held)
    SELECT d.job_id, d.at, d.at, 1, d.shard, d.status = 'PAUSED' FROM data d WHERE d.template < 2
  )
  INSERT INTO due (job_id, run_id, shard, part, priority, handler_key, tenant, kind, ends_job, job_version, fire_at, lane_at, nominal_at,
    timeout_ms, handler, payload)
  SELECT d.job_id, d.job_id, d.shard, d.part, d.priority, d.handler_key, d.tenant, 1, true, 1, d.at, d.at, d.at, d.timeout_ms, d.handler, '{}'
  FROM data d WHERE d.template = 2 AND d.status = 'SCHEDULED' AND d.at <> d.made`;

/** $1 changes of each recurring job. */
export const insertChanges = `
  INSERT INTO audit_log (at, actor_kind, actor_id, actor_name, action, namespace, subject_kind, subject_id, before, after)
  SELECT j.created_at + n * interval '1 day', 'user', coalesce(j.user_id, 'nobody'), 'somebody',
    CASE n % 3 WHEN 0 THEN 'jobs.pause' WHEN 1 THEN 'jobs.resume' ELSE 'jobs.update' END, j.namespace, 'job', j.job_id::text,
    '{"timeout_seconds": 60}', jsonb_build_object('timeout_seconds', 60 + n, 'version', 1 + n)
  FROM generate_series(1, $1::int) AS n, jobs j WHERE j.schedule_type IN ('CRON', 'INTERVAL') ORDER BY 1`;

/**
 * $1 runs, $2 jobs, $3 places of the state, $4 attempts, $5 workers, $6 started, $7 delays, $8 durations, $9 places of the error (0: none),
 * $10 the states, $11 the errors, $12 the number of the first.
 */
export const insertRuns = `
  INSERT INTO job_runs (run_id, job_id, status, start_time, end_time, modified_time, executor_id, attempt_number, error_message, created_at,
    epoch, trigger, scheduled_at, job_version, result_text)
  SELECT d.run_id, d.job_id, d.status, CASE WHEN d.status <> 'SKIPPED' THEN d.started END, d.ended, d.ended,
    CASE WHEN d.status <> 'SKIPPED' THEN 'host-' || d.worker || '.1.1' END, d.attempt,
    CASE WHEN d.error > 0 THEN ($11::text[])[d.error] || ' (request ' || d.n || ')' END, d.started, d.attempt, 1,
    d.started - d.delay * interval '1 ms', 1, CASE WHEN d.status = 'SUCCESS' THEN '{"rows": ' || d.n || '}' END
  FROM (
    SELECT u.run_id, u.job_id, ($10::text[])[u.status] AS status, u.attempt, u.worker, ${at('u.started')} AS started, u.delay,
      ${at('(u.started + u.duration)')} AS ended, u.error, u.ord - 1 + $12::bigint AS n
    FROM unnest($1::uuid[], $2::uuid[], $3::smallint[], $4::smallint[], $5::smallint[], $6::bigint[], $7::int[], $8::int[], $9::smallint[])
      WITH ORDINALITY AS u(run_id, job_id, status, attempt, worker, started, delay, duration, error, ord)
  ) d`;

/** $1 runs, $2 jobs, $3 errors, $4 when they were given up, $5 whether they were handled. */
export const insertLetters = `
  INSERT INTO dead_letters (run_id, job_id, reason, error_message, attempts, scheduled_at, died_at, redriven_as)
  SELECT d.run_id, d.job_id, CASE WHEN d.ord % 10 = 0 THEN 'not_retryable' ELSE 'retries_exhausted' END, d.error, 1, ${at('d.died')},
    ${at('d.died')}, CASE WHEN d.handled = 1 THEN d.run_id END
  FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::bigint[], $5::int[]) WITH ORDINALITY AS d(run_id, job_id, error, died, handled, ord)
  ON CONFLICT DO NOTHING`;
