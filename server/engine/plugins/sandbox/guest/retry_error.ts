/** Thrown by a plugin to say that the same call can succeed later. */
export class RetryError extends Error {
  constructor(message?: string) {
    super(message);
    this.name = 'RetryError';
  }
}
