import { openFolderPlace } from './folder_place.ts';
import type { BackupPlace } from './place.ts';
import { openS3Place } from './s3_place.ts';
import { UserError } from '../user_error.ts';

/**
 * Opens a folder, or a bucket that is named as `s3://bucket/prefix`. Throws a `UserError` for an
 * empty address.
 */
export function openPlace(address: string): BackupPlace {
  // An empty one would be the folder in which the command runs.
  if (address.trim() === '')
    throw new UserError('The place is empty: name a folder, or s3://bucket/prefix.');
  return address.startsWith('s3://') ? openS3Place(address) : openFolderPlace(address);
}
