/**
 * The environment of this process as it is now. The only place that reads it: settings are read by
 * `readConfig`, and what is no setting by `environmentVariable`.
 */
export function processEnvironment(): Record<string, string | undefined> {
  return process.env;
}

/** A variable of this process's environment. */
export function environmentVariable(name: string): string | undefined {
  return process.env[name];
}
