import { sameUri } from '../../engine/model/lake_catalog/file_uri.ts';
import { LakeRefused } from '../../engine/model/lake_catalog/refusal.ts';

// Characters with a meaning in policies, globs and URLs are not allowed.
const plain = /^[\w.=/-]+$/;

/** Returns the location of a new table: a folder of its own, with its name. */
export function tableLocation(namespace_location: string, name: string, uuid: string): string {
  return `${namespace_location}/${folderName(name)}-${uuid}`;
}

/** Returns the name as a folder; characters other than letters, digits and `_.-` become `_`. */
export function folderName(name: string): string {
  return name.replaceAll(/[^\w.-]/g, '_');
}

/** Returns true for a location that only one table can have. */
export function isOwnFolder(location: string, uuid: string): boolean {
  return location.endsWith(`-${uuid}`);
}

/**
 * Returns the location without a slash at its end. Throws 403 unless it is below one of the roots,
 * because keys give access to everything below a location.
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
      `Files of the table must be below ${roots[0]}/, with letters, digits and the ` +
        'characters _.=- in their names.',
    );
  return trimmed;
}
