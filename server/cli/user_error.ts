/**
 * A fault that the person at the terminal can mend; its message is shown as it is, without a stack.
 */
export class UserError extends Error {
  override readonly name: string = 'UserError';
}

/**
 * The command line, or a setting that the command needs, is not as the command takes it: it ends
 * with 2, as for an option that there is not.
 */
export class WrongUsageError extends UserError {
  override readonly name = 'WrongUsageError';
}
