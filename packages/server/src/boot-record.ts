/**
 * Which processes a data folder was started by, and which of them certainly have ended (hazard 44). The proof is the folder's
 * lock: whoever holds it, on the same file and under the same kernel as those before, has outlived them. A folder that was
 * copied, restored or moved, or whose machine was started anew, has another file or kernel; then nothing is proven, for the
 * processes named in it may go on elsewhere.
 */
import { execFile } from 'node:child_process';
import { lstat, readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

/** Workers of older processes are found by their silence. */
const BOOTS_MAX = 16;
const KERNEL_ANSWER_MS_MAX = 2_000;

interface BootRecord {
  /** Where the lock was held. */
  readonly place: string;
  /** Who held it there, the newest first. */
  readonly boots: readonly string[];
}

export interface Boot {
  readonly ended: readonly string[];
  /** What the folder has to say from now on. */
  readonly record: string;
}

/** `former`: what the folder says. A damaged record proves nothing, and is replaced. */
export function recordBoot(
  bootId: string,
  { former, place }: { former: string | undefined; place: string | undefined },
): Boot {
  const before = parse(former);
  const ended = place !== undefined && before?.place === place ? before.boots : [];
  const boots = [bootId, ...ended].slice(0, BOOTS_MAX);
  return { ended, record: JSON.stringify({ place: place ?? '', boots } satisfies BootRecord) };
}

/** The file that is locked, by what no other file of any machine shares with it while it is open; undefined where unknown. */
export async function lockIdentity(lockFile: string): Promise<string | undefined> {
  const kernel = await kernelId();
  if (kernel === undefined) return undefined;
  const { dev, ino } = await lstat(lockFile, { bigint: true });
  return `${kernel}/${dev}/${ino}`;
}

/** Random, made when the machine was started. */
async function kernelId(): Promise<string | undefined> {
  try {
    const id =
      process.platform === 'linux'
        ? await readFile('/proc/sys/kernel/random/boot_id', 'utf8')
        : (
            await promisify(execFile)('sysctl', ['-n', 'kern.bootsessionuuid'], {
              timeout: KERNEL_ANSWER_MS_MAX,
            })
          ).stdout;
    return id.trim() || undefined;
  } catch {
    // A system that does not tell: no end of a process is proven, and its shards and runs wait for the silence.
    return undefined;
  }
}

function parse(text: string | undefined): BootRecord | undefined {
  try {
    const { place, boots } = JSON.parse(text ?? '') as Partial<BootRecord>;
    const isRecord = typeof place === 'string' && Array.isArray(boots) && boots.every(isUuid);
    return isRecord ? { place, boots } : undefined;
  } catch {
    return undefined;
  }
}

function isUuid(value: unknown): boolean {
  return typeof value === 'string' && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value);
}
