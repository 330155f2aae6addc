import type { FastifyRequest } from 'fastify';
import { changesOf } from '../../platform/activity/changes.ts';
import { personOf } from '../../platform/http/caller/access.ts';
import type { Entry } from '../../platform/http/write.ts';
import type { ApiKeyRow } from './schema.ts';

/** A key belongs to its owner alone, so its changes are in the owner's chain. */
export function entryOf(
  request: FastifyRequest,
  activity: string,
  before: ApiKeyRow | undefined,
  after: (ApiKeyRow & { replaced_by?: string; replaced_keys?: number }) | undefined,
): Entry {
  const { id, label } = (before ?? after)!;
  const changes = changesOf(before, after, [
    'last_used_at',
    'last_used_ip',
    'last_used_user_agent',
  ]);
  return {
    activity,
    scope: 'personal_api_key',
    item_id: id,
    item_name: label,
    changes,
    chain: { user_uuid: personOf(request).user_uuid },
  };
}
