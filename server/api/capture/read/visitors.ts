import { createHmac } from 'node:crypto';
import { cookieless_id } from '../../../engine/ingest/identities/illegal_ids.ts';
import { isJsonObject } from '../../../engine/ingest/parse/exact_json.ts';
import type { JsonObject } from '../../../engine/ingest/parse/exact_json.ts';
import type { Draft } from '../protocol.ts';

/** The facts that distinguish the visitors of a project who store nothing. Plain data. */
export type Visit = {
  team_id: number;
  user_agent: string | undefined;
  address: string;
  /** The salt of the day of the request. */
  visitor_salt: string;
};

/** Sources of the id, which are not stored beside it. */
const told_apart_by = ['$ip', '$raw_user_agent'] as const;

/**
 * Names the visitors without cookies of a request, to whom their SDK gives one common name.
 * Guarantee: the same browser at the same address is the same visitor of a project for a day, and
 * once the salt of that day is deleted, nobody can tell from the id who it was. The event's own
 * address and browser count before those of the request: a server may have passed it on.
 */
export function openVisitors({ team_id, user_agent, address, visitor_salt }: Visit) {
  return (draft: Draft): Draft => {
    if (draft.distinct_id !== cookieless_id) return draft;
    const given: JsonObject = isJsonObject(draft.properties) ? draft.properties : {};
    const [from = address, agent = user_agent ?? ''] = told_apart_by.map((name) =>
      typeof given[name] === 'string' ? given[name] : undefined,
    );
    const id = createHmac('sha256', visitor_salt)
      .update(JSON.stringify([team_id, from, agent]))
      .digest()
      .subarray(0, 16)
      .toString('base64url');
    const properties = isJsonObject(draft.properties) ? without(given) : draft.properties;
    return { ...draft, distinct_id: `cookieless_${id}`, properties };
  };
}

function without(properties: JsonObject): JsonObject {
  const kept = { ...properties };
  for (const name of told_apart_by) delete kept[name];
  return kept;
}
