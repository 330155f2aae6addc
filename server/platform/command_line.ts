/**
 * How a command of this server is typed where it runs: `sluice verify` when it was installed as a
 * package, `npm run sluice -- verify` in a checkout.
 */
export function commandLine(words: string): string {
  if (import.meta.filename.endsWith('.js')) return `sluice ${words}`;
  return words === 'start' ? 'npm start' : `npm run sluice -- ${words}`;
}
