import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { installCommand } from '../../../platform/command_line.ts';
import { RetryableError } from './errors.ts';

/**
 * npm packages that Sluice does not include, because they are large and few exports need them, each
 * with its supported version.
 */
export const optional_packages = {
  '@azure/storage-blob': '12.34.0',
  'snowflake-sdk': '3.3.0',
} as const;

/** The name of a package that a destination needs and Sluice does not include. */
export type OptionalPackage = keyof typeof optional_packages;

const require = createRequire(import.meta.url);

/**
 * Returns what an operator has to do if the server lacks the package, otherwise undefined. Checks
 * again at each call.
 */
export function missingPackage(name: OptionalPackage): string | undefined {
  return isInstalled(name)
    ? undefined
    : `The package ${name} is not installed on this server. Install it on each server and ` +
        `worker: ${installCommand(`${name}@${optional_packages[name]}`)}. No restart is needed.`;
}

/** Throws an error that says how to install the package if the server lacks it. */
export function requirePackage(name: OptionalPackage): void {
  const told = missingPackage(name);
  if (told !== undefined) throw new RetryableError('package_missing', told);
}

/** Searches the folders: Node caches a failed resolution for good. */
function isInstalled(name: string): boolean {
  return (require.resolve.paths(name) ?? []).some((folder) => existsSync(join(folder, name)));
}
