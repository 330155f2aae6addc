/**
 * The environment of this process as it is now. Only this function reads it: `readConfig` reads
 * settings, and `environmentVariable` reads other variables.
 */
export function processEnvironment(): Record<string, string | undefined> {
  return process.env;
}

/** A variable of this process's environment. */
export function environmentVariable(name: string): string | undefined {
  return process.env[name];
}
