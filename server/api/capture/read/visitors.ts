import { createHmac } from 'node:crypto';
import { cookieless_id } from '../../../engine/ingest/identities/illegal_ids.ts';
import { isJsonObject } from '../../../engine/ingest/parse/exact_json.ts';
import type { JsonObject } from '../../../engine/ingest/parse/exact_json.ts';
import type { Draft } from '../protocol.ts';

/** The facts that distinguish a project's visitors without cookies. Plain data. */
export type Visit = {
  team_id: number;
  user_agent: string | undefined;
  address: string;
  /** The salt of the request's day. */
  visitor_salt: string;
};

/** Properties that the id is derived from, which are not stored with it. */
const told_apart_by = ['$ip', '$raw_user_agent'] as const;

/**
 * Names the visitors without cookies of a request, for whom the SDK sends one common name.
 * Guarantee: the same browser at the same address is the same visitor of a project for a day. After
 * the salt of that day is deleted, nobody can find the person from the id. The event's own address
 * and browser precede those in the request, because a server may have forwarded it.
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
