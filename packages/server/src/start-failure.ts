/** A start that cannot succeed, in words for the person who typed the command. */
import { createServer } from 'node:net';

export class StartFailure extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'StartFailure';
  }

  static ofListen(
    error: unknown,
    where: { port: number; host: string; flag?: '--port' | '--tls-redirect-port' },
  ): StartFailure {
    const flag = where.flag ?? '--port';
    const code = (error as NodeJS.ErrnoException).code;
    const address = `${where.host}:${where.port}`;
    const message =
      code === 'EADDRINUSE'
        ? `port ${where.port} on ${where.host} is taken by another program. Stop it, or choose another with ${flag}.`
        : code === 'EACCES'
          ? `this user may not listen on ${address}. Choose a port above 1023 with ${flag}.`
          : code === 'EADDRNOTAVAIL'
            ? `${where.host} is not an address of this machine. Choose another with --host.`
            : `cannot listen on ${address}: ${(error as Error).message}`;
    return new StartFailure(message, { cause: error });
  }

  /** A data folder that cannot be made or used; what is no error of the system is passed on as it is. */
  static ofFolder(error: unknown, path: string): unknown {
    const why = FOLDER_FAULTS[(error as NodeJS.ErrnoException).code ?? ''];
    if (why === undefined) return error;
    const message = `the data folder ${path} cannot be used: ${why}. Choose another with --data (or CARILLON_DATA).`;
    return new StartFailure(message, { cause: error });
  }

  static ofLogFolder(error: unknown, path: string): StartFailure {
    const why = FOLDER_FAULTS[(error as NodeJS.ErrnoException).code ?? ''] ?? (error as Error).message;
    const message = `the folder for logs ${path} cannot be used: ${why}. Choose another with --logs-folder.`;
    return new StartFailure(message, { cause: error });
  }

  static ofDatabase(error: unknown, databaseUrl: string): StartFailure {
    if (error instanceof StartFailure) return error;
    const message = `the database at ${placeOf(databaseUrl)} cannot be used: ${(error as Error).message}. Check --database-url, its user and password.`;
    return new StartFailure(message, { cause: error });
  }
}

const FOLDER_FAULTS: Readonly<Record<string, string>> = {
  EACCES: 'this user may not write there',
  EPERM: 'this user may not write there',
  EROFS: 'its file system is read-only',
  ENOSPC: 'its file system is full',
  ENOENT: 'no folder can be made there',
  ENOTDIR: 'a part of its path is a file',
  EEXIST: 'it is a file',
  ELOOP: 'its path goes round in a circle of links',
  ENAMETOOLONG: 'its path is too long',
};

/** Where a database is, without its password. */
export function placeOf(databaseUrl: string): string {
  const { hostname, port, pathname } = new URL(databaseUrl);
  return `${hostname}${port ? `:${port}` : ''}${pathname}`;
}

/** Finds out before anything else is started; the real listener still has the last word. */
export async function assertPortFree(port: number, host: string): Promise<void> {
  const probe = createServer();
  try {
    await new Promise<void>((resolve, reject) => {
      probe.once('error', reject).listen(port, host, resolve);
    });
  } catch (error) {
    throw StartFailure.ofListen(error, { port, host });
  }
  await new Promise((resolve) => probe.close(resolve));
}
