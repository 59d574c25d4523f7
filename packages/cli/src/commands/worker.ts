/** `worker`: the built-in handlers on any machine, as a worker of a server elsewhere. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { EgressRules, UnnamedPlugin, WorkerConnection } from '@carillon/worker';
import type { Cli } from '../cli.ts';
import { command } from '../command.ts';
import { configFolder } from '../contexts.ts';
import { CommandFailure, UsageError } from '../errors.ts';
import { choice, count, labels, names, text, withDefault } from '../flags.ts';

type WorkerLibrary = typeof import('@carillon/worker');
type WorkerLog = NonNullable<Parameters<WorkerLibrary['createWorker']>[0]['log']>;

interface Connection {
  readonly servers: readonly string[];
  readonly keyFile: string | undefined;
  /** Where http jobs may call. */
  readonly egress: EgressRules;
  readonly log: WorkerLog;
  /** What to do whenever a server is connected. */
  readonly connected: (act: () => unknown) => void;
}

type MakeHandler = (library: WorkerLibrary, at: Connection) => UnnamedPlugin | Promise<UnnamedPlugin>;

const BUILT_IN: Readonly<Record<string, MakeHandler>> = { http: httpHandler, script: scriptHandler };

/** As on a server, no job may call a server that this worker may be connected to. */
async function httpHandler(
  { httpPlugin, gatewayEndpoints, HTTP_DEFAULTS }: WorkerLibrary,
  { servers, egress, connected }: Connection,
): Promise<UnnamedPlugin> {
  const find = async () => (await Promise.all(servers.map((server) => gatewayEndpoints(server)))).flat();
  let own = await find();
  // Their names may lead elsewhere by now.
  connected(async () => {
    own = await find();
  });
  return httpPlugin({ ...HTTP_DEFAULTS, egress, own: () => own });
}

/** As a server runs them that is not told otherwise. What this command signs in with is hidden from scripts. */
async function scriptHandler(
  { scriptPlugin, findUserIds }: WorkerLibrary,
  { keyFile, log }: Connection,
): Promise<UnnamedPlugin> {
  const user = process.geteuid?.() === 0 ? await findUserIds('nobody') : undefined;
  if (process.geteuid?.() === 0 && user === undefined)
    throw new CommandFailure('Scripts of root run as the user nobody, and there is none.', undefined);
  const folder = configFolder(process.env);
  const hidden = [folder, keyFile].flatMap((path) => (path && existsSync(path) ? resolve(path) : []));
  return scriptPlugin({ user, hidden, log });
}

/** For a person: one line for each change, without stacks. That no server is connected is said once, however often it dials. */
function logTo({ out }: Cli) {
  let isAway = false;
  const say = (facts: { err?: unknown; reason?: unknown }, message: string) => {
    const { name, message: text } = facts.err instanceof Error ? facts.err : {};
    // run() fails with it.
    if (name === 'WorkerRefused') return;
    const why = text ?? facts.reason;
    if (name !== 'StreamBroken') out.warn(why === undefined ? message : `${message}: ${why}`);
    else if (!isAway) out.warn(`no server is connected, and it goes on dialling: ${why}`);
    isAway ||= name === 'StreamBroken';
  };
  const log: WorkerLog = { debug() {}, info() {}, warn: say, error: say, child: () => log };
  const acts: (() => unknown)[] = [];
  const onConnected = ({ server, workerId }: WorkerConnection) => {
    isAway = false;
    for (const act of acts) void act();
    out.note(`connected to ${server} as worker ${workerId}`);
  };
  return { words: { log, onConnected }, connected: (act: () => unknown) => void acts.push(act) };
}

/** What is given by --url or CARILLON_URL may name several, with commas. A key that was found is sent nowhere but where it was found. */
async function serversOf(cli: Cli): Promise<{ servers: readonly string[]; key: string }> {
  const { url, key } = await cli.connection();
  const servers = (cli.globals.urls ?? [url]).flatMap((given) => given.split(',')).map((one) => one.trim());
  const wrong = servers.find((server) => !/^https?:$/.test(URL.parse(server)?.protocol ?? ''));
  if (wrong !== undefined)
    throw new UsageError(
      `"${wrong}" is not an address of a server.`,
      'Such as https://carillon.example.org or http://10.0.0.5:7420; several with commas, or by more than one --url.',
    );
  const isGiven = cli.globals.key !== undefined || Boolean(cli.world.env.CARILLON_KEY);
  if (key === undefined || (servers.length > 1 && !isGiven))
    throw new UsageError(
      key === undefined
        ? 'A worker needs a key.'
        : 'A worker of several servers needs a key that is given for them.',
      'Make one: carillon keys create NAME --worker --handlers http; and give it by CARILLON_KEY or --key.',
    );
  return { servers: [...new Set(servers)], key };
}

interface EgressFlags {
  readonly httpEgress?: EgressRules['profile'];
  readonly httpAllow?: readonly string[];
  readonly httpDenyNetworks?: readonly string[];
}

/** As the settings of a server of these names. */
function egressOf(
  { parseAllowEntry, parseNetwork }: WorkerLibrary,
  { httpEgress: profile = 'open', httpAllow: allow = [], httpDenyNetworks: denyNetworks = [] }: EgressFlags,
): EgressRules {
  const entry = allow.find((text) => parseAllowEntry(text) === undefined);
  if (entry !== undefined)
    throw new UsageError(
      `--http-allow must be hosts, addresses or networks, and has "${entry}".`,
      'Such as api.example.com, *.example.com:443 or 10.0.0.0/8, with commas.',
    );
  const network = denyNetworks.find((text) => parseNetwork(text) === undefined);
  if (network !== undefined)
    throw new UsageError(
      `--http-deny-networks must be networks, and has "${network}".`,
      'Such as 10.0.0.0/8, with commas.',
    );
  return { profile, allow, denyNetworks };
}

interface TlsFlags {
  readonly tlsCa?: string;
  readonly tlsCert?: string;
  readonly tlsKey?: string;
}

function tlsFiles({ tlsCa, tlsCert, tlsKey }: TlsFlags, { env }: Cli['world']) {
  const { CARILLON_TLS_CA, CARILLON_TLS_CERT, CARILLON_TLS_KEY } = env;
  const caFile = tlsCa ?? CARILLON_TLS_CA;
  const certFile = tlsCert ?? CARILLON_TLS_CERT;
  const keyFile = tlsKey ?? CARILLON_TLS_KEY;
  return { ...(caFile && { caFile }), ...(certFile && { certFile }), ...(keyFile && { keyFile }) };
}

export const worker = command('worker', 'Run jobs on this machine for a server elsewhere', {
  details:
    `Offers the built-in handlers that are named: ${Object.keys(BUILT_IN).join(', ')}. It takes a worker key (carillon keys create ` +
    'NAME --worker). It has one server at a time; with several --url, or addresses with commas in CARILLON_URL, it goes to the next ' +
    'one when its own is gone. SIGTERM and Ctrl-C drain it: it takes nothing more, ends what it runs, and gives back what takes too long.',
  takesServers: true,
  options: {
    handlers: names('--handlers <names>', 'What it offers, with commas'),
    slots: withDefault(count('--slots <count>', 'Runs at the same time'), '8'),
    name: text('--name <name>', 'What it is called in lists [the name of this machine]'),
    labels: labels('--label <name=value>', 'For people, such as gpu=a100; may be repeated'),
    httpEgress: choice(
      '--http-egress <profile>',
      'Where http jobs may call: anywhere but what is always refused [open], public addresses, or what --http-allow names',
      ['open', 'internet', 'listed'],
    ),
    httpAllow: names(
      '--http-allow <entries>',
      'What http jobs may call besides: host, *.host, address or network, each with or without :port',
    ),
    httpDenyNetworks: names(
      '--http-deny-networks <networks>',
      'What http jobs must not call, besides what is always refused',
    ),
    tlsCa: text(
      '--tls-ca <file>',
      'Authority that signed the certificate of the server (or CARILLON_TLS_CA)',
    ),
    tlsCert: text(
      '--tls-cert <file>',
      'Certificate of this worker, for servers that want one (or CARILLON_TLS_CERT)',
    ),
    tlsKey: text('--tls-key <file>', 'Its private key (or CARILLON_TLS_KEY)'),
    drain: withDefault(count('--drain-seconds <count>', 'How long runs may take to end when it stops'), '30'),
  },
  examples: [
    'carillon worker --url https://carillon.example.org --handlers http,script',
    'carillon worker --url https://10.0.0.5:7420 --url https://10.0.0.6:7420 --handlers http',
    'carillon worker --url https://10.0.0.5:7420 --handlers http --tls-ca ca.pem --tls-cert worker.pem --tls-key worker-key.pem',
    'carillon worker --handlers http --slots 16 --label zone=eu-1 --label disk=ssd',
    'carillon worker --handlers http --http-egress internet --http-allow hooks.corp.example,10.20.0.0/16:8080',
  ],
  async run({ options: { handlers = [], slots, name, labels: given, drain, ...files }, cli }) {
    const known = Object.keys(BUILT_IN).join(', ');
    if (handlers.length === 0) throw new UsageError('A worker needs --handlers.', `Built in: ${known}.`);
    const unknown = handlers.find((handler) => !Object.hasOwn(BUILT_IN, handler));
    if (unknown !== undefined)
      throw new UsageError(
        `There is no built-in handler ${unknown}.`,
        `Built in: ${known}. Handlers of your own are offered by a program with @carillon/worker.`,
      );
    if (slots < 1) throw new UsageError('--slots must be 1 or more.');
    const { servers, key } = await serversOf(cli);
    // Loaded here: other commands do not need it.
    const library = await import('@carillon/worker');
    const egress = egressOf(library, files);
    const tls = tlsFiles(files, cli.world);
    const { words, connected } = logTo(cli);
    const running = library.createWorker({
      ...words,
      endWhenKeyRefused: true,
      ...{ servers, key, slots, labels: given ?? {}, drainSeconds: drain },
      ...(name !== undefined && { name }),
      tls,
    });
    for (const handler of new Set(handlers))
      running.handle(
        handler,
        await BUILT_IN[handler]!(library, {
          servers,
          egress,
          connected,
          keyFile: tls.keyFile,
          log: words.log,
        }),
      );
    cli.out.note(
      `Offers ${handlers.join(', ')} with ${slots} slots to ${servers.join(', ')}; Ctrl-C drains it.`,
    );
    await running.run().catch((error: unknown) => {
      throw new CommandFailure(`The worker ended: ${(error as Error).message}`, undefined, { cause: error });
    });
    cli.out.note('Drained.');
  },
});
