/**
 * Returns the command as an operator types it here: `sluice verify` for an installed package, `npm
 * run sluice -- verify` in a checkout.
 */
export function commandLine(words: string): string {
  if (import.meta.filename.endsWith('.js')) return `sluice ${words}`;
  return words === 'start' ? 'npm start' : `npm run sluice -- ${words}`;
}
