import { PluginError, invalidPackage } from '../../plugin.ts';
import type { PluginFiles } from '../../plugin.ts';
import { foldName, nameFault, showName } from './file_names.ts';
import { showBytes } from '../limits.ts';
import type { PackageLimits } from '../limits.ts';

/**
 * Collects the files of one package while they are read. Guarantee: every member throws
 * `PluginError` at the first invalid name, count or size, before more is read; it only uses memory.
 */
export type Collector = {
  /** Announces a file or folder by its original name, and returns the name to store it under. */
  add(kind: 'file' | 'folder', name: string): string;
  /** Counts further unpacked bytes. */
  count(bytes: number): void;
  /**
   * Stores the content of an announced file. A file that is not UTF-8 text is checked and counted
   * like the rest and then omitted.
   */
  keep(name: string, content: Buffer): void;
  /**
   * Returns the files by name. If everything lies in one folder, as in archives of npm, GitHub and
   * GitLab, that folder is removed from the names. Refuses a plugin.json or an entry file that is
   * no text: without it, later faults would mislead.
   */
  finish(): PluginFiles;
};

/** The files that a package can begin with. */
const needed = /^(?:plugin\.json|(?:index|site|frontend)\.[cm]?[jt]sx?)$/;

/** Opens one for a package of `packed_bytes` bytes; undefined if nothing is compressed. */
export function openCollector(limits: PackageLimits, packed_bytes: number | undefined): Collector {
  const kinds = new Map<string, 'file' | 'folder'>();
  const names: string[] = [];
  const counts = { file: 0, folder: 0 };
  const kept: [string, string][] = [];
  const unread: string[] = [];
  let unpacked = 0;
  return {
    add: (kind, given) => {
      const name = checkName(kind === 'folder' ? given.replace(/\/$/, '') : given);
      counts[kind] += 1;
      if (counts[kind] > limits.files_max)
        throw new PluginError(
          'too_large',
          `The package has more than ${limits.files_max} ${kind}s; leave out files that it ` +
            'does not need to run.',
        );
      if (kind === 'file') names.push(name);
      enter(kinds, name, kind);
      return name;
    },
    count: (bytes) => {
      unpacked += bytes;
      checkSize(unpacked, packed_bytes, limits);
    },
    keep: (name, content) => {
      const text = readText(content);
      if (text === undefined) unread.push(name);
      else kept.push([name, text]);
    },
    finish: () => {
      if (names.length === 0)
        throw invalidPackage('The package is empty; it must have a plugin.json and code.');
      const root = commonRoot(names);
      const lost = unread.map((name) => name.slice(root.length)).find((name) => needed.test(name));
      if (lost !== undefined)
        throw invalidPackage(`${lost} is not text in UTF-8. Save it in this encoding.`, {
          file: lost,
        });
      return Object.fromEntries(kept.map(([name, text]) => [name.slice(root.length), text]));
    },
  };
}

function checkName(given: string): string {
  // `tar -C folder .` writes every name with a leading "./".
  const name = given.replace(/^(\.\/)+/, '');
  const fault = nameFault(name);
  if (fault !== undefined)
    throw invalidPackage(
      `The package has a file whose name ${showName(given)} ${fault}. Pack it again without ` +
        'this file.',
    );
  return name;
}

/**
 * Adds a name and its parent folders. A second file of the same name, in any case or Unicode
 * composition, would hide the first one from a reviewer.
 */
function enter(kinds: Map<string, 'file' | 'folder'>, name: string, kind: 'file' | 'folder'): void {
  const fold = foldName(name);
  const parts = fold.split('/');
  for (let depth = 1; depth < parts.length; depth += 1) {
    const parent = parts.slice(0, depth).join('/');
    if (kinds.get(parent) === 'file') throw duplicate(name);
    kinds.set(parent, 'folder');
  }
  const earlier = kinds.get(fold);
  if (earlier !== undefined && (earlier === 'file' || kind === 'file')) throw duplicate(name);
  kinds.set(fold, kind);
}

function duplicate(name: string): PluginError {
  return invalidPackage(
    `The package has two entries named ${showName(name)} (in some spelling of upper and lower ` +
      'case). Keep one of them.',
  );
}

function checkSize(unpacked: number, packed: number | undefined, limits: PackageLimits): void {
  if (unpacked > limits.unpacked_bytes_max) {
    throw new PluginError(
      'too_large',
      `The package is larger than ${showBytes(limits.unpacked_bytes_max)} unpacked; leave out ` +
        'files that it does not need to run.',
    );
  }
  if (
    packed !== undefined &&
    unpacked > limits.ratio_bytes_min &&
    unpacked > packed * limits.ratio_max
  ) {
    throw new PluginError(
      'too_large',
      `The package unpacks to more than ${limits.ratio_max} times its packed size, which ` +
        'code never does; leave out files of repeated bytes.',
    );
  }
}

/**
 * Returns the text of UTF-8 bytes; undefined for everything else and for text with U+0000, which
 * the database cannot store.
 */
function readText(content: Buffer): string | undefined {
  if (content.includes(0)) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(content);
  } catch {
    return undefined;
  }
}

function commonRoot(names: string[]): string {
  const slash = names[0]!.indexOf('/');
  const root = slash === -1 ? '' : names[0]!.slice(0, slash + 1);
  return names.every((name) => name.startsWith(root)) ? root : '';
}
