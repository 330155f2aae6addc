import { randomUUID } from 'node:crypto';
import { NonRetryableError } from '../../model/destination/errors.ts';
import type { SmallFiles } from '../lake/place.ts';
import { joined } from '../lake/table_places.ts';

/**
 * Writes two files of one name, and throws unless the store refuses the second: some stores accept
 * the header for it and ignore it. Writers of a table would then overwrite each other's log
 * entries.
 */
export async function requirePutIfAbsent(files: SmallFiles, folder: string): Promise<void> {
  const name = joined(folder, '_sluice', `probe-${randomUUID()}`);
  await files.putNew(name, 'first');
  try {
    if (!(await files.putNew(name, 'second'))) return;
  } finally {
    await files.remove(name);
  }
  throw new NonRetryableError(
    'request_refused',
    'The store writes over an object although the request forbids it (If-None-Match: *). Two ' +
      'writers of a table would replace the commits of each other, so Sluice writes no Delta ' +
      'table there. Use another store, or a newer version of this one.',
  );
}
