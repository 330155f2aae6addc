/**
 * Lets a command finish although nobody reads its output (`sluice config pull | head`): an apply
 * must not stop between its steps. If output fails for another reason, such as a full disk,
 * standard error says so and the exit code is 1.
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
