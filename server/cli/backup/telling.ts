/** Lines of progress to standard error: one a second for who waits, few for a file of them. */
export function openTelling(): (line: string) => void {
  let told_at = performance.now();
  return (line) => {
    if (performance.now() - told_at < (process.stderr.isTTY ? 1_000 : 15_000)) return;
    told_at = performance.now();
    process.stderr.write(`${line}\n`);
  };
}
