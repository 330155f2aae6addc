import { createRequire } from 'node:module';
import type * as Ssh from 'ssh2';

const require = createRequire(import.meta.url);

/** The package, loaded when a tunnel is configured first. */
export function sshPackage(): typeof Ssh {
  return require('ssh2') as typeof Ssh;
}
