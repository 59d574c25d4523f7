// The one error the bootstrap shows without a stack: what could not be done, and what the reader can do about it.

export class Failure extends Error {
  constructor(message, exitCode = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}
