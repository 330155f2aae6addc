/**
 * Completes package-lock.json (`npm run lock`). npm omits optional packages of other platforms from
 * the lock if the registry does not serve them, and `npm ci` then refuses the lock. The lock must
 * also not contain addresses of a registry, nor the Node versions that packages want: the project
 * brings its own Node, and npm would print 190 lines of warnings on Node 20.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { completeLock } from './lock_file.ts';
import type { Lock } from './lock_file.ts';

const path = join(import.meta.dirname, '../..', 'package-lock.json');
const { lock, added, addresses } = completeLock(JSON.parse(readFileSync(path, 'utf8')) as Lock);
writeFileSync(path, `${JSON.stringify(lock, null, 2)}\n`);
console.log(
  `package-lock.json: ${added.length} optional platform packages added, ${addresses} ` +
    'addresses removed.',
);
