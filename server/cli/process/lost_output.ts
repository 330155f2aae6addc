/**
 * Lets a command go on to its end where nobody reads what it says (`sluice config pull | head`): an
 * apply must not break off between its steps. Output that cannot be written for another reason,
 * such as a full disk, is told on standard error, and the exit code is 1.
 */
export function endureLostOutput(): void {
  let fault: string | undefined;
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    fault ??= error.code ?? error.message;
  });
  process.on('exit', () => {
    if (fault === undefined || fault === 'EPIPE') return;
    process.stderr.write(`Standard output could not be written: ${fault}.\n`);
    process.exitCode ||= 1;
  });
}
