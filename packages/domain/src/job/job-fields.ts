/**
 * The fields of a job, in the order in which requests and answers show them: the one declaration that its type, its input, the
 * wire schema and the stored columns follow from. Plain fields are read by their kind; what stands for several of them, or
 * depends on others, is read by hand in define-job.ts.
 */
import { RETRY_FIELDS } from '../retry/retry-policy.ts';
import { DAYLIGHT_SAVING_FIELDS, MISFIRE_FIELDS } from '../schedule/schedule.ts';
import { NO_LABELS, NO_RESOURCES, readJobKey, readLabels, readResources } from './define-job-values.ts';
import {
  formatted,
  integer,
  map,
  nested,
  plainFields,
  seconds,
  structured,
  text,
  word,
} from './field-kinds.ts';
import { PRIORITIES } from './job.ts';

export const CONCURRENCY_MAX = 1_000;

export const SCHEDULE_FIELDS = {
  schedule_type: structured('schedule_type', 'Inferred from the other fields when left out.'),
  schedule_time: structured(
    'instant',
    'FUTURE: when. INTERVAL: where the rhythm is counted from. ISO 8601 or a UNIX timestamp.',
  ),
  cron_expression: structured('text', '5 fields, or 6 with seconds first.'),
  interval: structured('interval', 'Such as 90s, 15m, 1d or PT15M, or a number of seconds.'),
  frequency: structured('text', 'hourly, daily, weekly, monthly or yearly.'),
  time_zone: structured('text', 'An IANA name; UTC when left out.'),
  start_at: structured('instant', 'The first instant at which an occurrence may lie.'),
  end_at: structured('instant', 'The last instant at which an occurrence may lie.'),
  daylight_saving: nested(DAYLIGHT_SAVING_FIELDS, 'What becomes of times that do not exist, or exist twice.'),
  spread_seconds: structured('seconds', 'Delays every occurrence by a fixed share below this.'),
};

export const JOB_FIELDS = {
  name: structured('text', '1 to 200 characters; the key when left out.'),
  key: formatted(readJobKey, 'What the caller knows it by: unique in its namespace, up to 200 characters.'),
  ...SCHEDULE_FIELDS,
  misfire: nested(MISFIRE_FIELDS, 'What becomes of occurrences that could not start in time.'),
  handler: structured('text', 'What runs it; inferred from the payload when left out.'),
  payload: structured('json', 'For the handler: at most 256 KiB and 64 levels deep.'),
  priority: word(PRIORITIES, { fallback: 'medium', about: 'medium when left out.' }),
  max_retries: structured('integer', '0 to 100; 3 when left out.'),
  retry: nested(RETRY_FIELDS, 'How failed attempts are tried again.'),
  max_concurrency: integer({
    min: 1,
    max: CONCURRENCY_MAX,
    fallback: 1,
    about: 'Runs of this job at the same time; 1 when left out.',
  }),
  overlap: word(['queue', 'skip', 'replace'], {
    fallback: 'queue',
    about: 'What happens when that many are running; queue when left out.',
  }),
  timeout_seconds: seconds({
    min: 0.001,
    max: 7 * 86_400,
    fallback: 5 * 60_000,
    about: 'The longest time one attempt may run; 300 when left out.',
  }),
  // Waiting is never charged to timeout_seconds.
  start_timeout_seconds: seconds({
    min: 0.001,
    max: 31 * 86_400,
    about: 'The longest time a run may wait for its start.',
  }),
  user_id: text({ lengthMax: 200, about: 'Whose job it is.' }),
  namespace: structured('text', 'Where it lives; it cannot move later.'),
  labels: map<string>('texts', {
    fallback: NO_LABELS,
    read: readLabels,
    about: 'Names with texts, to find jobs by.',
  }),
  resources: map<number>('numbers', {
    fallback: NO_RESOURCES,
    read: readResources,
    about: 'Names with numbers: what a run takes up.',
  }),
};

export const PLAIN_JOB_FIELDS = plainFields(JOB_FIELDS);
