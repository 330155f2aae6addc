import { createHash } from 'node:crypto';
import { invalidPackage } from '../plugin.ts';
import type { PluginCollection, PluginFiles, PluginPackage } from '../plugin.ts';
import { openCollector } from './archives/collector.ts';
import { package_limits } from './limits.ts';
import { manifest_file, readManifest } from './manifest.ts';
import { findEntry } from '../sandbox/package_modules.ts';
import { tool_file } from '../tools/tool.ts';

/**
 * Returns the SHA-256 in hexadecimal over names and texts of all files. Guarantee: the same files
 * give the same hash in any order, and packages that differ in any name or text give different
 * hashes.
 */
export function contentSha256(files: PluginFiles): string {
  const hash = createHash('sha256');
  for (const name of Object.keys(files).sort()) {
    const text = files[name]!;
    // The lengths come first, so that no text can pass for the beginning of the next file.
    hash.update(`${Buffer.byteLength(name)} ${Buffer.byteLength(text)}\n${name}`).update(text);
  }
  return hash.digest('hex');
}

/**
 * Checks the files of a package or of source written in the browser. Guarantee: names, texts, count
 * and size are within the limits of every package. The collection's entry file exists: `site` or
 * `frontend` for frontend apps, the main file for the others. Throws `PluginError` with the fault.
 */
export function checkPackage(files: PluginFiles, collection: PluginCollection): void {
  const collector = openCollector(package_limits, undefined);
  for (const [name, text] of Object.entries(files)) {
    collector.add('file', name);
    collector.count(Buffer.byteLength(text));
    if (!text.isWellFormed() || text.includes('\0'))
      throw invalidPackage(
        `${name} is not text: it has half a character or U+0000. Write these as escapes.`,
        { file: name },
      );
  }
  collector.finish();
  const main = Object.hasOwn(files, manifest_file) ? readManifest(files).main : null;
  if (collection === 'pipeline_frontend_apps') {
    if (!findEntry(files, main, 'site') && !findEntry(files, main, 'frontend'))
      throw invalidPackage(
        'A frontend app needs a site.ts (runs on web pages) or a frontend.tsx; the package ' +
          'has neither.',
      );
  } else if (!Object.hasOwn(files, tool_file) && findEntry(files, main, 'server') === undefined) {
    throw invalidPackage(
      'The package has no code: it needs an index.js or index.ts, or the file that ' +
        'plugin.json or package.json names as main.',
    );
  }
}

/**
 * Builds a package from its files. `tag` is the origin's name of this version; without one, it is
 * the manifest's version and the beginning of the content's hash.
 */
export function assemblePackage(files: PluginFiles, tag: string | null): PluginPackage {
  const manifest = readManifest(files);
  const content_sha256 = contentSha256(files);
  return {
    files,
    manifest,
    content_sha256,
    tag: tag ?? contentTag(manifest.version, content_sha256),
  };
}

/**
 * In the form of a semantic versioning build: it distinguishes two contents under one version and
 * stays readable.
 */
function contentTag(version: string | null, content_sha256: string): string {
  const build = content_sha256.slice(0, 12);
  return version === null ? build : `${version}+${build}`;
}
