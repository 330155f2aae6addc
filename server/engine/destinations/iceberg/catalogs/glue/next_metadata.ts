import { writeExactJson } from '../../../../../platform/json/exact_json.ts';
import { applyUpdates } from '../../../../model/lake_catalog/apply_updates.ts';
import { keyOf } from '../../../../model/lake_catalog/draft.ts';
import { longOf } from '../../../../model/lake_catalog/fields.ts';
import { metadataText } from '../../../../model/lake_catalog/metadata.ts';
import { readMetadata } from '../../../../model/lake_catalog/read_metadata.ts';
import { checkRequirements } from '../../../../model/lake_catalog/requirements.ts';
import type { Commit } from '../catalog.ts';
import type { Loaded } from '../peer.ts';

const log_entries_max = 100;

/**
 * Returns the text of the metadata file after a commit, for a catalog that only swaps files. Throws
 * a `LakeRefused`: 409 if the table does not meet a requirement.
 */
export function nextMetadata(
  { metadata: before, pointer }: Loaded,
  { requirements, updates }: Commit,
  now_ms: number,
): string {
  const { metadata, snapshots, log } = readMetadata(writeExactJson(before));
  checkRequirements(requirements, metadata);
  const idOf = (one: Record<string, unknown>) => keyOf(longOf(one, 'snapshot-id'));
  const known = snapshots.map((one) => ({
    id: idOf(one),
    timestamp_ms: Number(longOf(one, 'timestamp-ms')),
  }));
  const { table, added, removed, logged } = applyUpdates(metadata, updates, known, now_ms);
  const written = {
    ...table,
    'last-updated-ms': Math.max(now_ms, metadata['last-updated-ms']),
    'metadata-log': [
      ...metadata['metadata-log'],
      {
        'metadata-file': pointer!.metadata_location,
        'timestamp-ms': metadata['last-updated-ms'],
      },
    ].slice(-log_entries_max),
  };
  const kept = snapshots.filter((one) => !removed.has(idOf(one)));
  const texts = [...kept, ...[...added.values()].map(({ snapshot }) => snapshot)];
  const entries = [
    ...log.filter((one) => !removed.has(idOf(one))),
    ...logged.map(({ id, timestamp_ms }) => ({
      'snapshot-id': BigInt(id),
      'timestamp-ms': timestamp_ms,
    })),
  ];
  const joined = (list: unknown[]) => list.map(writeExactJson).join(',');
  return metadataText(writeExactJson(written), joined(texts), joined(entries));
}
