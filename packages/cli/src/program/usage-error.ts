/** The command line cannot be understood: what is wrong, and what would be right. */
export class UsageError extends Error {
  readonly fix: string | undefined;

  constructor(message: string, fix?: string) {
    super(message);
    this.name = 'UsageError';
    this.fix = fix;
  }
}
