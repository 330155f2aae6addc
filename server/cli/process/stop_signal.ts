/**
 * A supervisor that signals a process group, and npm, which forwards signals, make a signal arrive
 * twice.
 */
const same_signal_ms = 1_000;

/** The exit codes of shells for processes that a signal ended. */
export const signal_exit_codes = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;

/** Signals that ask a process to stop. */
export type StopSignal = keyof typeof signal_exit_codes;

/**
 * Resolves with the first SIGINT, SIGTERM or SIGHUP. A second signal ends the process at once, with
 * exit code 130. Within a second it counts as a repetition of the first.
 */
export function stopSignal(): Promise<StopSignal> {
  return new Promise((resolve) => {
    let first: number | undefined;
    for (const signal of Object.keys(signal_exit_codes) as StopSignal[]) {
      process.on(signal, () => {
        if (first !== undefined && performance.now() - first >= same_signal_ms) process.exit(130);
        first ??= performance.now();
        resolve(signal);
      });
    }
  });
}
