/** Opens progress lines on standard error: one a second at a terminal, few in a file. */
export function openTelling(): (line: string) => void {
  let told_at = performance.now();
  return (line) => {
    if (performance.now() - told_at < (process.stderr.isTTY ? 1_000 : 15_000)) return;
    told_at = performance.now();
    process.stderr.write(`${line}\n`);
  };
}
