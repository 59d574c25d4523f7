/** What every command understands, and what the nouns are about. */
import type { OptionSpec } from '../command.ts';

/** What the nouns are about, for the first page of help. */
export const NOUNS: Readonly<Record<string, string>> = {
  jobs: 'Make, read, change and stop jobs',
  runs: 'See what ran, and stop it or do it again',
  dlq: 'Runs that failed for good (dead letters)',
  keys: 'API keys',
  users: 'People and what they may',
  namespaces: 'Keep the jobs of teams apart',
  import: 'Take over jobs from elsewhere',
};

export const GLOBAL_OPTIONS: readonly OptionSpec[] = [
  { flags: '--url <address>', description: 'Server to talk to (or CARILLON_URL)' },
  {
    flags: '--key <key>',
    description: 'Key to use (or CARILLON_KEY, which keeps it out of the process list)',
  },
  { flags: '--data <folder>', description: 'Data folder of a local server to talk to' },
  { flags: '--json', description: 'JSON for programs; one object a line where results go on' },
  { flags: '--utc', description: 'Times in UTC instead of the time zone of this machine' },
];
