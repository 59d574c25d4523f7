/** The command that makes a first job, as the server prints it when it starts: with the folder of its key for those who may know it. */
import { BASE_URL } from '../api/carillon.ts';
import { useCaller } from '../api/session.ts';
import { COMMAND } from './command-name.ts';

export function useFirstCommand(): string {
  const flags = useCaller()?.command_flags ?? '';
  return `${COMMAND} jobs create hello --http ${new URL('health/live', BASE_URL).href} --wait${flags}`;
}
