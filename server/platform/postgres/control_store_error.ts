/** Thrown if the database is unusable; the message gives the reason and the action. */
export class ControlStoreError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ControlStoreError';
  }
}
