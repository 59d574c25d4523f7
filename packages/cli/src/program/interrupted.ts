/** Somebody pressed Ctrl-C at a question: nothing more is said, and nothing was done. */
export class Interrupted extends Error {
  constructor() {
    super('interrupted');
    this.name = 'Interrupted';
  }
}
