/** What the program ends with; documented in docs/cli.md, and scripts rely on it. */
export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  notAllowed: 4,
  unreachable: 5,
  interrupted: 130,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

export const EXIT_MEANINGS: readonly (readonly [code: ExitCode, meaning: string])[] = [
  [EXIT.ok, 'Done.'],
  [EXIT.failed, 'The server refused, or what was waited for did not succeed.'],
  [EXIT.usage, 'The command line cannot be understood.'],
  [EXIT.notFound, 'There is no such thing, or it may not be seen.'],
  [EXIT.notAllowed, 'Not signed in, or not allowed.'],
  [EXIT.unreachable, 'No server was found, or it does not answer.'],
  [EXIT.interrupted, 'Ended with Ctrl-C: watching, following, or before the work was done.'],
];
