import { createRequire } from 'node:module';
import type * as Ssh from 'ssh2';

const require = createRequire(import.meta.url);

/** Returns the package, loaded when the first tunnel is configured. */
export function sshPackage(): typeof Ssh {
  return require('ssh2') as typeof Ssh;
}
