/**
 * A fault that the person at the terminal can mend; its message is shown as it is, without a stack.
 */
export class UserError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UserError';
  }
}

/**
 * The command line, or a setting that the command needs, is not as the command takes it: it ends
 * with 2, as for an option that there is not.
 */
export class WrongUsageError extends UserError {
  constructor(message: string) {
    super(message);
    this.name = 'WrongUsageError';
  }
}
