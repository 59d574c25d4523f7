/** How a command ends when it does not succeed: exit codes, and the errors it throws. */

/** Scripts rely on these; docs/cli.md lists them. */
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
  [EXIT.failed, 'Refused as things are, or what was waited for did not succeed.'],
  [EXIT.usage, 'The command line cannot be understood, or a value in it is refused.'],
  [EXIT.notFound, 'There is no such thing, or it may not be seen.'],
  [EXIT.notAllowed, 'Not signed in, or not allowed.'],
  [EXIT.unreachable, 'No server was found, or it does not answer.'],
  [EXIT.interrupted, 'Ended with Ctrl-C: watching, following, or before the work was done.'],
];

/** The command could not do its work, for a reason that a person understands without a stack. */
export class CommandFailure extends Error {
  readonly fix: string | undefined;

  constructor(message: string, fix?: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.fix = fix;
  }
}

/** The command line cannot be understood: the message says what is wrong, the fix what would be right. */
export class UsageError extends CommandFailure {}

/** Ctrl-C at a question: nothing was done, and nothing is printed. */
export class Interrupted extends Error {}
