import { basename, dirname, sep } from 'node:path';

/**
 * Returns the command that installs an npm package where this server finds it: beside the package
 * Sluice, or into the checkout.
 */
export function installCommand(specifier: string): string {
  const [folder, inside] = import.meta.dirname.split(`${sep}node_modules${sep}sluice${sep}`);
  if (inside === undefined) return `npm install --no-save ${specifier}`;
  return basename(folder!) === 'lib'
    ? `npm install --global --prefix ${dirname(folder!)} ${specifier}`
    : `npm install --prefix ${folder} ${specifier}`;
}

/**
 * Returns a command in the form for this installation: `sluice verify` for an installed package,
 * `npm run sluice -- verify` in a checkout.
 */
export function commandLine(words: string): string {
  if (import.meta.filename.endsWith('.js')) return `sluice ${words}`;
  return words === 'start' ? 'npm start' : `npm run sluice -- ${words}`;
}
