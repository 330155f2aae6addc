import { no_proxies } from '../../../platform/outbound/proxy.ts';
import { openFolderPlace } from './folder_place.ts';
import type { BackupPlace } from './place.ts';
import { openS3Place } from './s3_place.ts';
import { WrongUsageError } from '../../user_error.ts';

/**
 * Opens a folder, or a bucket named as `s3://bucket/prefix`, which is reached through the
 * operator's proxies. Throws a `UserError` for an empty address and for any other scheme.
 */
export function openPlace(address: string, proxies = no_proxies): BackupPlace {
  // An empty address would be the current folder.
  if (address.trim() === '')
    throw new WrongUsageError('The place is empty: name a folder, or s3://bucket/prefix.');
  // Otherwise a mistyped `s3://` would be a folder, and no backup would reach the bucket.
  const scheme = /^([a-z][a-z\d+.-]+):/i.exec(address)?.[0];
  if (scheme !== undefined && !address.startsWith('s3://'))
    throw new WrongUsageError(
      `"${address}" is not a place for backups: write s3://bucket/prefix, or the path of a ` +
        `folder (./${address} for a folder of that name).`,
    );
  return address.startsWith('s3://') ? openS3Place(address, proxies) : openFolderPlace(address);
}
