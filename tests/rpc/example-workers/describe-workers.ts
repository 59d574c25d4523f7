/** Every worker that there is, each against a scripted server: the stage of the tests of workers.proto. */
import { afterEach, beforeAll, describe } from 'vitest';
import { makeTestFolder } from '../../support/test-folder.ts';
import { findWorkers, isLeftOut, nameOf, programOf } from './find-workers.ts';
import { KEY, type Script, ScriptedServer, type Session } from './scripted-server.ts';
import { endWorkers, WorkerProcess, type WorkerProcessOptions } from './worker-process.ts';

export const LIMIT = { withinMs: 60_000 };
export const LEASE = '00000000-0000-4000-8000-000000000001';
export const NEXT = '00000000-0000-4000-8000-000000000002';
export const LONG = { handler: 'wait', payload: { ms: 600_000 } };

export interface WorkerStage {
  readonly language: string;
  launch(server: ScriptedServer, options?: Partial<WorkerProcessOptions>): WorkerProcess;
  /** A worker and a server of its own, connected. */
  connect(
    script?: Partial<Script>,
    options?: Partial<WorkerProcessOptions>,
  ): Promise<{ server: ScriptedServer; worker: WorkerProcess; session: Session }>;
}

const servers: ScriptedServer[] = [];

/** Stopped with its test. */
export async function serve(script: Partial<Script> = {}): Promise<ScriptedServer> {
  const server = await new ScriptedServer(script).start();
  servers.push(server);
  return server;
}

/** Before its test is over. */
export async function stopEarly(server: ScriptedServer): Promise<void> {
  servers.splice(servers.indexOf(server), 1);
  await server.stop();
}

export async function describeWorkers(
  tests: (stage: WorkerStage) => void,
  workers = findWorkers(),
): Promise<void> {
  afterEach(async () => {
    await endWorkers();
    await Promise.all(servers.splice(0).map((server) => server.stop()));
  });

  describe.each(await workers)('$language', (found) => {
    describe.skipIf(isLeftOut(found))(nameOf(found), () => {
      // Where nothing may be left out, the reason is told before anything is started for nothing.
      beforeAll(() => void programOf(found));

      const launch: WorkerStage['launch'] = (server, options = {}) =>
        new WorkerProcess({
          ...{ program: programOf(found), folder: makeTestFolder(), servers: [server.address], key: KEY },
          ...options,
        });
      tests({
        ...{ language: found.language, launch },
        connect: async (script = {}, options = {}) => {
          const server = await serve(script);
          const worker = launch(server, options);
          return { server, worker, session: await server.session() };
        },
      });
    });
  });
}
