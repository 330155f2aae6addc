/** The database cannot be worked on; the message says why and what to do. */
export class ControlStoreError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ControlStoreError';
  }
}
