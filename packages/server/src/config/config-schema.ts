/**
 * Every setting there is, in one place: its default, its bounds and what it is for. Flags, environment variables, the
 * help text and docs/configuration.md all follow from this schema. Names are those of the configuration file.
 */
import { z } from 'zod';

const whole = (min: number, max: number) => z.int().min(min).max(max);

const databaseUrl = z
  .string()
  .regex(/^postgres(ql)?:\/\//, { error: 'must begin with postgres:// or postgresql://' });

export const configSchema = z.strictObject({
  port: whole(0, 65_535).default(7420).describe('Port of the gateway; 0 takes any free one.'),
  host: z.string().min(1).default('127.0.0.1').describe('Address to listen on; 0.0.0.0 for all.'),
  public_url: z
    .url({ protocol: /^https?$/, error: 'must be an http:// or https:// address' })
    .optional()
    .describe('Where callers reach the gateway, for links in answers. Left out: links are relative.'),
  data: z
    .string()
    .min(1)
    .default('.carillon')
    .describe('Folder of this server: admin key, identity, and the embedded database.'),
  database_url: databaseUrl
    .optional()
    .describe('PostgreSQL to use. Left out: an embedded one runs in the data folder.'),
  log_level: z
    .enum(['debug', 'info', 'warn', 'error', 'silent'])
    .default('info')
    .describe('How much to log.'),
  retention_days: whole(1, 36_500).default(30).describe('Days that the history of runs is kept.'),
  look_ahead_seconds: whole(1, 3_600)
    .default(300)
    .describe('How far ahead the scheduler holds what becomes due in memory.'),
  shutdown_grace_seconds: whole(0, 3_600)
    .default(30)
    .describe('How long running jobs may go on when the server is stopped, before they are given back.'),
  retries_per_second: whole(0, 1_000_000)
    .default(1_000)
    .describe(
      'Failed runs that this server tries again per second, over all jobs; more are tried later. 0 tries none again: failures become dead letters at once.',
    ),
  body_limit_kb: whole(1, 65_536).default(1_024).describe('Largest request body, in KiB.'),
  database: z
    .strictObject({
      connections_max: whole(1, 1_000).default(10).describe('Connections to the database.'),
      connect_timeout_seconds: whole(1, 300).default(5).describe('How long to wait for a connection.'),
      statement_timeout_seconds: whole(1, 3_600).default(30).describe('How long one statement may take.'),
    })
    .prefault({}),
  executor: z
    .strictObject({
      slots: whole(1, 100_000).default(256).describe('Runs that this server executes at the same time.'),
    })
    .prefault({}),
  worker: z
    .strictObject({
      silent_seconds: whole(3, 3_600)
        .default(15)
        .describe('A worker that is silent for longer is given up, and its runs are run again.'),
    })
    .prefault({}),
  node: z
    .strictObject({
      ttl_seconds: whole(3, 3_600)
        .default(10)
        .describe('A server that is silent for longer loses its shards to the others.'),
    })
    .prefault({}),
  http: z
    .strictObject({
      response_bytes_max: whole(0, 10_240)
        .default(8_192)
        .describe('Bytes of an answer that are kept as the result of an http job.'),
      deny_networks: z
        .array(z.string().regex(/^[0-9a-f.:]+\/\d{1,3}$/i, { error: 'must be networks such as 10.0.0.0/8' }))
        .default(['169.254.0.0/16', 'fe80::/10', 'fd00:ec2::254/128', '64:ff9b::a9fe:0/112'])
        .describe('Networks that http jobs must not call, e.g. where cloud machines keep their credentials.'),
    })
    .prefault({}),
});

export type Config = z.output<typeof configSchema>;
