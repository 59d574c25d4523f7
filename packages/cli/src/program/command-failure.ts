/** A command that could not do its work, for a reason a person understands without a stack. */
export class CommandFailure extends Error {
  readonly fix: string | undefined;

  constructor(message: string, options: { fix?: string; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.name = 'CommandFailure';
    this.fix = options.fix;
  }
}
