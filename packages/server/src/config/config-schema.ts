/**
 * Every setting there is, in one place: its default, its bounds and what it is for. Flags, environment variables, the
 * help text and docs/configuration.md all follow from this schema. Names are those of the configuration file.
 */
import {
  DEFAULT_INTERPRETERS,
  DEFAULT_PATH,
  EGRESS_PROFILES,
  parseAllowEntry,
  parseInterpreter,
  parseNetwork,
} from '@carillon/worker';
import { z } from 'zod';
import { logSettings } from './log-settings.ts';
import { oidcSettings } from './oidc-settings.ts';

const integer = (min: number, max: number) => z.int().min(min).max(max);

const databaseUrl = z
  .string()
  .regex(/^postgres(ql)?:\/\//, { error: 'must begin with postgres:// or postgresql://' });

const isNetwork = (text: string) => parseNetwork(text) !== undefined;

export const configSchema = z.strictObject({
  port: integer(0, 65_535).default(7420).describe('Port of the gateway; 0 takes any free one.'),
  host: z
    .string()
    .min(1)
    .optional()
    .describe('Address to listen on; 0.0.0.0 for all. Left out: 127.0.0.1, and with TLS all of them.'),
  public_url: z
    .url({ protocol: /^https?$/, error: 'must be an http:// or https:// address' })
    .optional()
    .describe('Where callers reach the gateway, for links in answers. Left out: links are relative.'),
  data: z
    .string()
    .min(1)
    .default('.carillon')
    .describe('Folder of this server: admin key, identity, and the embedded database.'),
  trust_folder: z
    .boolean()
    .default(false)
    .describe(
      'The data folder is yours although it was copied or restored, or comes from an earlier version. Needed for one start; not in a configuration file.',
    ),
  database_url: databaseUrl
    .optional()
    .describe('PostgreSQL to use. Left out: an embedded one runs in the data folder.'),
  roles: z
    .array(z.enum(['gateway', 'reads', 'writes', 'engine', 'scheduler', 'dispatcher']))
    .min(1, { error: 'must name at least one role' })
    .default(['gateway', 'engine'])
    .describe(
      'What this server does: gateway answers requests (reads or writes: only those), engine schedules jobs and runs them (scheduler or dispatcher: only that). Less than gateway and engine needs database_url.',
    ),
  log_level: z
    .enum(['debug', 'info', 'warn', 'error', 'silent'])
    .default('info')
    .describe('How much to log.'),
  retention_days: integer(1, 36_500).default(30).describe('Days that the history of runs is kept.'),
  audit_retention_days: integer(1, 36_500).default(365).describe('Days that the audit log is kept.'),
  look_ahead_seconds: integer(1, 3_600)
    .default(300)
    .describe('How far ahead the scheduler holds what becomes due in memory.'),
  shutdown_grace_seconds: integer(0, 3_600)
    .default(30)
    .describe('How long running jobs may go on when the server is stopped, before they are given back.'),
  retries_per_second: integer(0, 1_000_000)
    .default(1_000)
    .describe(
      "Retries per second on this server, for one user in one namespace. A namespace gets up to twice this, all together four times. What is over is tried later and delays nobody else's. 0: no retries, failures become dead letters at once.",
    ),
  redact_names: z
    .array(z.string().min(2).max(100))
    .default([])
    .describe(
      'Names of fields, headers and parameters whose values the audit log leaves out, besides password, token, secret, authorization and the like.',
    ),
  body_limit_kb: integer(1, 65_536).default(1_024).describe('Largest request body, in KiB.'),
  handlers: z
    .array(
      z.union(
        [
          z.string().min(1),
          z.strictObject({
            module: z.string().min(1),
            options: z.record(z.string(), z.unknown()).default({}),
          }),
        ],
        { error: 'must be names of packages or paths, or objects with module and options' },
      ),
    )
    .default([])
    .describe(
      'Packages or files that bring handlers, from the current folder: names, or in the file objects with module and options. See docs/handlers.md.',
    ),
  tls: z
    .strictObject({
      cert_file: z
        .string()
        .min(1)
        .optional()
        .describe('PEM file with the certificate, and those that vouch for it. Left out: no TLS.'),
      key_file: z.string().min(1).optional().describe('PEM file with the private key of the certificate.'),
      client_ca_file: z
        .string()
        .min(1)
        .optional()
        .describe(
          'PEM file with the authorities that sign certificates of workers. Left out: none is asked for.',
        ),
      client_certificate: z
        .enum(['optional', 'required'])
        .optional()
        .describe(
          'Whether the stream of a worker needs a certificate; one that is sent must be valid either way. Left out: required where tls.client_ca_file is given.',
        ),
      redirect_port: integer(1, 65_535)
        .optional()
        .describe('Port on which plain HTTP is sent on to https. Left out: none.'),
    })
    .superRefine((tls, { addIssue }) => {
      const demand = (missing: string, given: string) =>
        addIssue({ code: 'custom', path: [missing], message: `must be given, since ${given} is` });
      if (tls.cert_file !== undefined && tls.key_file === undefined) demand('key_file', 'tls.cert_file');
      if (tls.key_file !== undefined && tls.cert_file === undefined) demand('cert_file', 'tls.key_file');
      if (tls.redirect_port !== undefined && tls.cert_file === undefined)
        demand('cert_file', 'tls.redirect_port');
      if (tls.client_ca_file !== undefined && tls.cert_file === undefined)
        demand('cert_file', 'tls.client_ca_file');
      if (tls.client_certificate !== undefined && tls.client_ca_file === undefined)
        demand('client_ca_file', 'tls.client_certificate');
    })
    .prefault({}),
  database: z
    .strictObject({
      connections_max: integer(1, 1_000)
        .default(10)
        .describe('Connections to the database, besides eight for heartbeats, outcomes and hints.'),
      connect_timeout_seconds: integer(1, 300).default(5).describe('How long to wait for a connection.'),
      statement_timeout_seconds: integer(1, 3_600).default(30).describe('How long one statement may take.'),
    })
    .prefault({}),
  executor: z
    .strictObject({
      slots: integer(1, 100_000).default(256).describe('Runs that this server executes at the same time.'),
    })
    .prefault({}),
  worker: z
    .strictObject({
      silent_seconds: integer(3, 3_600)
        .default(15)
        .describe('A worker that is silent for longer is given up, and its runs are run again.'),
    })
    .prefault({}),
  node: z
    .strictObject({
      ttl_seconds: integer(3, 3_600)
        .default(10)
        .describe('A server that is silent for longer loses its shards to the others.'),
    })
    .prefault({}),
  trusted_proxies: z
    .array(z.string().refine(isNetwork, { error: 'must be addresses or networks such as 10.0.0.0/8' }))
    .default([])
    .describe('Proxies whose X-Forwarded-For and X-Forwarded-Proto are believed, e.g. 127.0.0.1.'),
  allowed_hosts: z
    .array(z.string().regex(/^(\*|[\w.:-]{1,255})$/, { error: 'must be host names without ports, or *' }))
    .default([])
    .describe(
      'Host names that requests may be addressed to, besides that of public_url; * for all. Left out: on 127.0.0.1 only names of this machine, elsewhere all.',
    ),
  connections: z
    .strictObject({
      total_max: integer(1, 1_000_000)
        .default(10_000)
        .describe('Connections of callers that may be open at the same time.'),
      address_max: integer(1, 1_000_000)
        .default(1_000)
        .describe('Of these, from one address or IPv6 /64; trusted_proxies are not counted.'),
    })
    .prefault({}),
  rate_limit: z
    .strictObject({
      key_per_second: integer(0, 1_000_000)
        .default(1_000)
        .describe(
          'Requests per second of one person with all their keys, or of one key of nobody; 0: no limit. The admin key has none.',
        ),
      address_per_second: integer(0, 1_000_000)
        .default(5_000)
        .describe('Requests per second of one address, whoever asks from there; 0: no limit.'),
      burst_seconds: integer(1, 3_600).default(10).describe('How many seconds of these may come at once.'),
    })
    .prefault({}),
  session: z
    .strictObject({
      idle_minutes: integer(1, 525_600)
        .default(720)
        .describe('A signed-in session that is not used for this long ends.'),
      max_hours: integer(1, 8_760)
        .default(168)
        .describe('A session ends after this long, however much it is used.'),
      start_link: z
        .boolean()
        .default(true)
        .describe(
          'Whether the server prints a link when it has started that signs in as the admin key, once and within ten minutes.',
        ),
    })
    .prefault({}),
  oidc: oidcSettings,
  events: z
    .strictObject({
      retention_days: integer(1, 3_650)
        .default(7)
        .describe('Days that events are kept for readers to catch up; never longer than retention_days.'),
      listeners_max: integer(0, 100_000)
        .default(1_000)
        .describe(
          'Readers that may follow the events of this server at the same time; those of one namespace get two fifths of it at most.',
        ),
    })
    .prefault({}),
  logs: logSettings,
  metrics: z
    .strictObject({
      open: z.boolean().default(false).describe('Let callers on this machine read /metrics without a key.'),
    })
    .prefault({}),
  secrets: z
    .strictObject({
      key_file: z
        .string()
        .min(1)
        .optional()
        .describe(
          'File with 32 bytes in base64 that encrypt secrets and signing keys in the database; the same on all servers. Several lines: the first encrypts, all open. Left out: secrets.key of the data folder with the embedded PostgreSQL; with another database, signing keys are not encrypted and secrets cannot be set.',
        ),
    })
    .prefault({}),
  http: z
    .strictObject({
      response_bytes_max: integer(0, 10_240)
        .default(8_192)
        .describe('Bytes of an answer that are kept as the result of an http job.'),
      egress: z
        .enum(EGRESS_PROFILES)
        .default('open')
        .describe(
          'Where http jobs may call: open, anywhere but what is always refused; internet, public addresses only; listed, only what http.allow names. See docs/egress.md.',
        ),
      allow: z
        .array(
          z.string().refine((text) => parseAllowEntry(text) !== undefined, {
            error:
              'must be hosts, addresses or networks, such as api.example.com, *.example.com:443 or 10.0.0.0/8',
          }),
        )
        .default([])
        .describe(
          'What http jobs may call besides: host, *.host, address or network, each with or without :port.',
        ),
      deny_networks: z
        .array(z.string().refine(isNetwork, { error: 'must be networks such as 10.0.0.0/8' }))
        .default([])
        .describe(
          'Networks that http jobs must not call, besides metadata services of clouds, link-local and multicast addresses and Carillon itself. Wins over http.allow.',
        ),
    })
    .prefault({}),
  script: z
    .strictObject({
      enabled: z
        .boolean()
        .optional()
        .describe(
          'Whether this server runs script jobs. Left out: only when it listens on this machine alone. See docs/scripts.md.',
        ),
      interpreters: z
        .array(
          z.string().refine((text) => parseInterpreter(text) !== undefined, {
            error: 'must be names of programs, or name=/path',
          }),
        )
        .default(DEFAULT_INTERPRETERS)
        .describe(
          'Programs that script jobs may name: a name that is looked up in script.path, or name=/path.',
        ),
      path: z.string().min(1).default(DEFAULT_PATH).describe('PATH of scripts.'),
      roots: z
        .array(z.string().startsWith('/', { error: 'must be absolute paths of folders' }))
        .default([])
        .describe('Folders that code_location may name files in. Left out: none.'),
      user: z
        .string()
        .min(1)
        .default('nobody')
        .describe(
          'Who runs scripts when the server runs as root: the name of a user, or uid:gid. Otherwise the user of the server runs them.',
        ),
      pass_env: z
        .array(z.string().regex(/^[A-Za-z_]\w*$/, { error: 'must be names of variables' }))
        .default([])
        .describe("Variables of the server's own environment that scripts get; no others."),
      work_folder: z
        .string()
        .min(1)
        .optional()
        .describe(
          'Where the folder of each run is made. Left out: the folder of the system for temporary files.',
        ),
      memory_mb: integer(16, 1_048_576)
        .default(1_024)
        .describe('Memory of one script with all its processes, in MiB.'),
      cpu_seconds: integer(0, 31_536_000)
        .default(3_600)
        .describe('CPU time of one script with all its processes; 0: no limit but the time of the run.'),
      processes: integer(1, 100_000).default(256).describe('Processes and threads of one script.'),
      files: integer(16, 1_048_576)
        .default(1_024)
        .describe('Files that one process of a script may have open.'),
      file_size_mb: integer(1, 1_048_576)
        .default(1_024)
        .describe('Largest file that a script may write, in MiB.'),
      stop_grace_seconds: integer(0, 4)
        .default(4)
        .describe('How long a script that is told to stop (SIGTERM) may go on before it is killed.'),
    })
    .prefault({}),
});

export type Config = z.output<typeof configSchema>;
