/** Bounds of a package. Sizes in bytes; `files_max` bounds files, and folders once more. */
export type PackageLimits = {
  packed_bytes_max: number;
  unpacked_bytes_max: number;
  files_max: number;
  /**
   * Unpacked over packed size, looked at from `ratio_bytes_min` unpacked bytes on: smaller packages
   * harm nobody.
   */
  ratio_max: number;
  ratio_bytes_min: number;
};

const mebibyte = 1024 * 1024;

/** The limits of every package, wherever it comes from. */
export const package_limits: PackageLimits = {
  packed_bytes_max: 20 * mebibyte,
  unpacked_bytes_max: 100 * mebibyte,
  files_max: 2000,
  ratio_max: 100,
  ratio_bytes_min: 10 * mebibyte,
};

/** A size for a sentence, in MiB when it is one or more. */
export function showBytes(bytes: number): string {
  return bytes >= mebibyte ? `${Math.floor((bytes / mebibyte) * 10) / 10} MiB` : `${bytes} bytes`;
}
