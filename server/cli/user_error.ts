/**
 * A fault that the person at the terminal can fix. Its message is shown without a stack, and the
 * command ends with its exit code (listed in docs/cli.md).
 */
export class UserError extends Error {
  override readonly name: string = 'UserError';
  readonly exit_code: number = 1;
}

/**
 * The command line, or a setting that the command needs, is invalid: the exit code is 2, as for an
 * unknown option.
 */
export class WrongUsageError extends UserError {
  override readonly name = 'WrongUsageError';
  override readonly exit_code = 2;
}

/** The server cannot be reached or cannot answer now: the same command may work later. */
export class UnreachableError extends UserError {
  override readonly name = 'UnreachableError';
  override readonly exit_code = 3;
}

/** There is no API key, or the server refuses it. */
export class KeyError extends UserError {
  override readonly name = 'KeyError';
  override readonly exit_code = 4;
}
