import type { PluginError } from '../../../server/engine/plugins/plugin.ts';

/** A name, the archive, and the code and the words of its refusal. */
export type HostileArchive = [string, Buffer, PluginError['code'], RegExp];

/** The manifest of the packages. */
export const manifest = { name: 'package/plugin.json', content: '{"name":"x"}' };

/** Returns a copy with one changed byte. */
export const flipped = (archive: Buffer, at: number) => {
  const copy = Buffer.from(archive);
  copy[at] = copy[at]! ^ 0xff;
  return copy;
};

/** Returns this number of files. */
export const many = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ name: `package/${index}.js`, content: '1' }));
