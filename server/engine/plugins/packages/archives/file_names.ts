const name_bytes_max = 255;
const depth_max = 20;
/** Files that developers' tools and macOS put beside the files of a package. */
const left_out = new Set(['node_modules', '.git', '__MACOSX', '.DS_Store']);

/**
 * Returns true if a file or folder, with its contents, is left out of every package. Such files are
 * large, or links, or no text, and plugins do not read them.
 */
export function isLeftOut(name: string): boolean {
  return name.split('/').some((part) => left_out.has(part) || part.startsWith('._'));
}

/**
 * Returns the fault of a file's name within a package, as the end of a sentence, or undefined.
 * Guarantee: an accepted name is relative, stays inside the package on every system, hides nothing,
 * and is safe as the key of an object.
 */
export function nameFault(name: string): string | undefined {
  if (name === '') return 'is empty';
  if (!name.isWellFormed()) return 'is not valid text';
  if (/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(name)) return 'has invisible characters';
  if (Buffer.byteLength(name) > name_bytes_max) return `is longer than ${name_bytes_max} bytes`;
  if (name.includes('\\')) return 'has a backslash; separate folders by /';
  if (name.startsWith('/') || /^[A-Za-z]:/.test(name)) return 'is an absolute path';
  const parts = name.split('/');
  if (parts.includes('..')) return 'leads out of the package';
  if (parts.includes('') || parts.includes('.')) return 'has an empty part or a "."';
  if (parts.length > depth_max) return `is more than ${depth_max} folders deep`;
  if (parts.includes('__proto__')) return 'is reserved';
  return undefined;
}

/**
 * Returns a name as file systems that ignore case and Unicode composition see it: names with the
 * same fold are the same file on some systems.
 */
export function foldName(name: string): string {
  return name.normalize('NFC').toLowerCase().normalize('NFC');
}

/** Formats a name for a sentence: invisible characters become U+XXXX, and long names are cut. */
export function showName(name: string): string {
  const seen = name.replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu,
    (letter) => `<U+${letter.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}>`,
  );
  return `"${seen.length > 100 ? `${seen.slice(0, 100)}…` : seen}"`;
}
