/**
 * A fault that the person at the terminal can mend; its message is shown as it is, without a stack.
 */
export class UserError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UserError';
  }
}
