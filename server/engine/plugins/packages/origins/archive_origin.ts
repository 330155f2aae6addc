import { readArchive } from '../archives/archive.ts';
import { assemblePackage } from '../content.ts';
import type { Origin, OriginDeps } from './origin.ts';
import { requestOrigin } from './origin_request.ts';

/**
 * The origin of an archive at an https address, fetched with its whole query, which may contain a
 * signature. It has one version: its present content, identified by its hash.
 */
export function openArchiveOrigin(url: URL, shown_url: string, deps: OriginDeps): Origin {
  const read = async (signal: AbortSignal) => {
    const bytes = await requestOrigin(
      deps,
      { origin: url.hostname, thing: `the archive ${shown_url}`, url },
      signal,
    );
    return assemblePackage(await readArchive(bytes), null);
  };
  return {
    kind: 'archive',
    shown_url,
    findLatest: async (signal) => (await read(signal)).tag,
    fetch: (_tag, signal) => read(signal),
  };
}
