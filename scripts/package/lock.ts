/**
 * Completes package-lock.json (`npm run lock`). npm leaves optional packages of other platforms out
 * of the lock when the registry at hand does not serve them, and `npm ci` then refuses the lock;
 * besides, addresses of a registry do not belong in the repository, and what packages want of the
 * Node that runs npm is no concern of a project that brings its own (190 lines of warnings on Node
 * 20).
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
