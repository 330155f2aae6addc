/**
 * Thrown when nothing can continue until somebody changes something: a sentence that says what. The
 * work stays as it is, and no failure is counted.
 */
export class HoldError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'HoldError';
  }
}
