/** Where this server keeps what runs write: a bucket, a folder that all servers share, or one of its own. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Log, systemClock, systemRandom } from '@carillon/foundation';
import type { Config } from './config/config-schema.ts';
import { FilesLogStore } from './log-store/files-log-store.ts';
import type { LogStore } from './log-store/log-store.ts';
import type { S3Credentials } from './log-store/s3/s3-bucket.ts';
import { S3LogStore } from './log-store/s3/s3-log-store.ts';
import { StartFailure } from './start-failure.ts';

export interface LogPlaces {
  /** The folder of this server. */
  readonly dataFolder: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
}

/** A bucket that does not answer is no reason not to start: it costs logs, and no run. */
export async function openLogStore({ logs }: Config, { dataFolder, env, log }: LogPlaces): Promise<LogStore> {
  const { bucket, region, prefix, endpoint = `https://s3.${region}.amazonaws.com` } = logs.s3;
  if (bucket !== undefined)
    return new S3LogStore({
      ...{ endpoint, bucket, region, prefix, credentials: await credentialsOf(logs.s3, env) },
      ...{ clock: systemClock, random: systemRandom },
    });
  const { folder = join(dataFolder, 'logs') } = logs;
  const isShared = logs.folder !== undefined;
  const reserve = { reserveMb: logs.reserve_mb, clock: systemClock, log };
  return FilesLogStore.open(folder, { isShared, reserve }).catch((error: unknown) => {
    throw StartFailure.ofLogFolder(error, folder);
  });
}

async function credentialsOf(
  { access_key_id: givenId, secret_access_key_file: file }: Config['logs']['s3'],
  env: LogPlaces['env'],
): Promise<S3Credentials> {
  if (givenId !== undefined && file !== undefined) {
    const secretAccessKey = await readFile(file, 'utf8').catch((error: unknown) => {
      const { message } = error as Error;
      throw new StartFailure(`${file} of --logs-s3-secret-access-key-file cannot be used: ${message}.`, {
        cause: error,
      });
    });
    return { accessKeyId: givenId, secretAccessKey: secretAccessKey.trim() };
  }
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = env;
  if (!accessKeyId || !secretAccessKey)
    throw new StartFailure(
      'logs.s3.bucket needs a key: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or logs.s3.access_key_id and logs.s3.secret_access_key_file.',
    );
  return { accessKeyId, secretAccessKey, sessionToken: env.AWS_SESSION_TOKEN || undefined };
}
