import { row_tables } from '../../../engine/model/removals/delete_rows.ts';

/** The folders of what backups write, below which a folder may have drafts. */
export const written_folders = ['analytics/', 'control/', 'backups/'];

const written = new RegExp(
  `^(analytics/(${row_tables.join('|')})/\\d+-\\d+-[0-9a-f]{8}\\.native\\.zst|` +
    'control/\\d{8}T\\d{9}Z(-[0-9a-f]{8})?/\\w+\\.copy\\.zst|' +
    'backups/\\d{8}T\\d{9}Z\\.json|unfinished\\.json)$',
);

/**
 * Returns true if a backup gives files such a name. A place may be a whole bucket or disk, in which
 * a folder named `analytics` belongs to somebody else: files with other names are never removed.
 */
export function isWrittenName(name: string): boolean {
  return written.test(name);
}
