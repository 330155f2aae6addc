/** Thrown by a plugin if a retry of the call may succeed. */
export class RetryError extends Error {
  constructor(message?: string) {
    super(message);
    this.name = 'RetryError';
  }
}
