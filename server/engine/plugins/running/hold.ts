/**
 * Thrown if nothing can continue until somebody changes something; the sentence says what. The work
 * waits unchanged, and no failure is counted.
 */
export class HoldError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'HoldError';
  }
}
