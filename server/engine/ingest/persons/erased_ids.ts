import sql from 'sql-template-tag';
import type { Queryable, Transaction } from '../../../platform/postgres/database.ts';
import type { Secrets } from '../../../platform/secrets/secrets.ts';
import type { NoteWarning } from '../warnings/warning.ts';
import type { IncomingEvent } from '../parse/event.ts';
import { isJsonObject, parseExact } from '../parse/exact_json.ts';

/** The treatment of late events of an erased person. */
export type LateEvents = 'refuse' | 'anonymize';

/** The distinct id of events that are stored without a person. */
const nobody = '$erased';

type Hashing = Pick<Secrets, 'hash'>;

/**
 * Returns a hash in place of an erased person's distinct id; the id cannot be recovered from it.
 */
function erasedHash(secrets: Hashing, team_id: number, distinct_id: string): Buffer {
  return secrets.hash(`erased:${team_id}:${distinct_id}`);
}

/**
 * Records that persons were erased: from the commit on, late events of these distinct ids are
 * refused or stored without them. `refuse` wins if both were requested.
 */
export async function rememberErased(
  db: Queryable,
  secrets: Hashing,
  erased: { team_id: number; erasure_id: string; late_events: LateEvents },
  distinct_ids: string[],
): Promise<void> {
  const hashes = distinct_ids.map((id) => erasedHash(secrets, erased.team_id, id).toString('hex'));
  await db.run(sql`
    INSERT INTO erased_ids AS known (team_id, id_hash, late_events, erasure_id)
    SELECT ${erased.team_id}::integer, decode(hex, 'hex'), ${erased.late_events},
      ${erased.erasure_id}::uuid FROM (SELECT DISTINCT unnest(${hashes}::text[]) AS hex) AS wanted
    ORDER BY 2
    ON CONFLICT (team_id, id_hash) DO UPDATE SET late_events = 'refuse'
      WHERE excluded.late_events = 'refuse' AND known.late_events <> 'refuse'`);
}

/**
 * Returns the distinct ids that belong to erased persons; with `erasure_ids`, only of these
 * erasures.
 */
export async function findErased(
  db: Queryable,
  secrets: Hashing,
  team_id: number,
  distinct_ids: string[],
  erasure_ids?: string[],
): Promise<string[]> {
  return [...(await lateOf(db, secrets, team_id, distinct_ids, erasure_ids)).keys()];
}

/** Finds the treatment of late events for the distinct ids that belong to erased persons. */
async function lateOf(
  db: Queryable,
  secrets: Hashing,
  team_id: number,
  distinct_ids: Iterable<string>,
  erasure_ids?: string[],
): Promise<Map<string, LateEvents>> {
  const hashes = new Map<string, string>();
  for (const id of distinct_ids) hashes.set(erasedHash(secrets, team_id, id).toString('hex'), id);
  const rows = await db.rows<{ hex: string; late_events: LateEvents }>(sql`
    SELECT encode(id_hash, 'hex') AS hex, late_events FROM erased_ids
    WHERE team_id = ${team_id} AND id_hash IN (SELECT decode(hex, 'hex')
      FROM unnest(${[...hashes.keys()]}::text[]) AS hex)
      AND (${erasure_ids ?? null}::uuid[] IS NULL OR erasure_id = ANY (${erasure_ids ?? null}))`);
  return new Map(rows.map(({ hex, late_events }) => [hashes.get(hex)!, late_events]));
}

/**
 * Returns the storable events at their positions: undefined for a refused one. The caller holds the
 * project's lock; the project has erased persons. Its warnings contain no names.
 */
export async function withoutErased(
  { tx, secrets, warn }: { tx: Transaction; secrets: Hashing; warn: NoteWarning },
  team_id: number,
  events: IncomingEvent[],
): Promise<(IncomingEvent | undefined)[]> {
  const ids = new Set(
    events.flatMap(({ distinct_id, merge }) => [distinct_id, merge?.other ?? []]).flat(),
  );
  const erased = await lateOf(tx, secrets, team_id, ids);
  if (erased.size === 0) return events;
  return events.map((event) => {
    const late = erased.get(event.distinct_id);
    if (late === undefined && !erased.has(event.merge?.other ?? '')) return event;
    const reason = late === 'refuse' ? 'erased_person_refused' : 'erased_person_left_out';
    warn({ team_id, reason, example: { event: event.event } });
    if (late === 'refuse') return undefined;
    return late === 'anonymize' ? ofNobody(event) : withoutMerge(event);
  });
}

/** Keeps the event's name and time: neither the person nor the sent properties. */
function ofNobody({ uuid, is_uuid_given, event, timestamp }: IncomingEvent): IncomingEvent {
  return {
    uuid,
    is_uuid_given,
    event,
    timestamp,
    distinct_id: nobody,
    properties: '{}',
    elements_chain: '',
    set: undefined,
    set_once: undefined,
    unset: undefined,
    merge: undefined,
    group_fault: undefined,
    is_set_too_large: false,
    bytes: 200,
  };
}

/**
 * The event belongs to another person, who should be merged with the erased one; that request is
 * removed.
 */
function withoutMerge(event: IncomingEvent): IncomingEvent {
  const other = event.merge!.other;
  const { properties, elements_chain } = textsOf(event);
  const parsed = parseExact(properties);
  if (!isJsonObject(parsed)) return { ...event, merge: undefined };
  const kept = Object.entries(parsed).filter(
    ([, value]) => (typeof value === 'string' ? value : JSON.stringify(value)) !== other,
  );
  return {
    ...event,
    properties: JSON.stringify(Object.fromEntries(kept)),
    elements_chain,
    written: undefined,
    merge: undefined,
  };
}

function textsOf({ properties, elements_chain, written }: IncomingEvent): {
  properties: string;
  elements_chain: string;
} {
  if (written === undefined) return { properties, elements_chain };
  return JSON.parse(`{${new TextDecoder().decode(written)}}`) as ReturnType<typeof textsOf>;
}
