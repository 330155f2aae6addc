import { sameUri } from '../../engine/model/lake_catalog/file_uri.ts';
import { LakeRefused } from '../../engine/model/lake_catalog/refusal.ts';

// Signs that mean something in policies, globs and URLs stay out.
const plain = /^[\w.=/-]+$/;

/** The location of a new table: a folder of its own, named after it. */
export function tableLocation(namespace_location: string, name: string, uuid: string): string {
  return `${namespace_location}/${folderName(name)}-${uuid}`;
}

/** The name as a folder; other signs than letters, digits and `_.-` become `_`. */
export function folderName(name: string): string {
  return name.replaceAll(/[^\w.-]/g, '_');
}

/** True for the location of a table that no other table can have. */
export function isOwnFolder(location: string, uuid: string): boolean {
  return location.endsWith(`-${uuid}`);
}

/**
 * The location without a slash at its end. Throws 403 unless it lies below one of the others: keys
 * are vended for what lies below a location.
 */
export function locationBelow(roots: readonly string[], location: string): string {
  const trimmed = sameUri(location).replace(/\/+$/, '');
  const is_below = roots.some((root) => {
    const rest = trimmed.startsWith(`${root}/`) ? trimmed.slice(root.length + 1) : '';
    return plain.test(rest) && !rest.split('/').some((part) => ['', '.', '..'].includes(part));
  });
  if (!is_below)
    throw new LakeRefused(
      'ForbiddenException',
      `Files of the table must lie below ${roots[0]}/, with letters, digits and the signs _.=- ` +
        'in their names.',
    );
  return trimmed;
}
