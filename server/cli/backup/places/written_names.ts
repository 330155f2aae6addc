import { row_tables } from '../../../engine/model/removals/delete_rows.ts';

/** The folders of backup files, in which `tidy` may find drafts. */
export const written_folders = ['analytics/', 'control/', 'backups/'];

const written = new RegExp(
  `^(analytics/(${row_tables.join('|')})/\\d+-\\d+-[0-9a-f]{8}\\.native\\.zst|` +
    'control/\\d{8}T\\d{9}Z(-[0-9a-f]{8})?/\\w+\\.copy\\.zst|' +
    'backups/\\d{8}T\\d{9}Z\\.json|unfinished\\.json)$',
);

/**
 * Returns true if backups use such file names. A place may be a whole bucket or disk, where a
 * folder named `analytics` may belong to somebody else: files with other names are never deleted.
 */
export function isWrittenName(name: string): boolean {
  return written.test(name);
}
