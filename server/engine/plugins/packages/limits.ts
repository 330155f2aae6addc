/** Limits of a package. Sizes in bytes; `files_max` bounds files, and folders separately. */
export type PackageLimits = {
  packed_bytes_max: number;
  unpacked_bytes_max: number;
  files_max: number;
  /**
   * Unpacked size over packed size, checked from `ratio_bytes_min` unpacked bytes: smaller packages
   * are harmless.
   */
  ratio_max: number;
  ratio_bytes_min: number;
};

const mebibyte = 1024 * 1024;

/** The limits of every package, from any origin. */
export const package_limits: PackageLimits = {
  packed_bytes_max: 20 * mebibyte,
  unpacked_bytes_max: 100 * mebibyte,
  files_max: 2000,
  ratio_max: 100,
  ratio_bytes_min: 10 * mebibyte,
};

/** Formats a size for a sentence, in MiB from one on. */
export function showBytes(bytes: number): string {
  return bytes >= mebibyte ? `${Math.floor((bytes / mebibyte) * 10) / 10} MiB` : `${bytes} bytes`;
}
