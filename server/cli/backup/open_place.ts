import { openFolderPlace } from './folder_place.ts';
import type { BackupPlace } from './place.ts';
import { openS3Place } from './s3_place.ts';

/** Opens a folder, or a bucket that is named as `s3://bucket/prefix`. */
export function openPlace(address: string): BackupPlace {
  return address.startsWith('s3://') ? openS3Place(address) : openFolderPlace(address);
}
