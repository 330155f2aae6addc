/**
 * Thrown when nothing can go on until somebody changes something: a sentence that says what. What
 * was to be done stays as it is, and no failure is counted.
 */
export class HoldError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'HoldError';
  }
}
