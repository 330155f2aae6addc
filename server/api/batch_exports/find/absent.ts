import sql from 'sql-template-tag';
import type { Engine } from '../../../engine/exports/engine.ts';
import { findErased } from '../../../engine/ingest/persons/erased_ids.ts';
import { findRemoved, removedSentence } from '../../../engine/model/ledger/removed.ts';
import { counted } from '../../../platform/counted.ts';

/** The requested record: an event, a session, a group, or the records of a distinct id on a day. */
type Asked = {
  uuid?: string;
  session_id?: string;
  group_id?: string;
  distinct_id?: string;
  day?: string;
};

/**
 * Explains why nothing was found: for certain if the person was erased, else with every possible
 * cause in this project. An erasure keeps no uuids, so any erasure may have removed the event.
 */
export async function absentSentence(
  { db, secrets }: Pick<Engine, 'db' | 'secrets'>,
  team_id: number,
  { uuid, session_id, group_id, distinct_id = '', day }: Asked,
): Promise<string> {
  const named = [
    ...(session_id === undefined ? [] : [`session ${session_id}`]),
    ...(group_id === undefined ? [] : [`group ${group_id}`]),
  ];
  const isPerson = uuid === undefined && named.length === 0;
  const ofId = named[0] ?? `${JSON.stringify(distinct_id)} on ${day}`;
  const absent =
    uuid === undefined ? `The store has no events of ${ofId}.` : `No event ${uuid} is stored.`;
  if (isPerson && (await findErased(db, secrets, team_id, [distinct_id])).length > 0)
    return `${absent} An erasure deleted the data of this person.`;
  const removed = await findRemoved(db, team_id);
  const erased = await db.row<{ count: number; latest: string | null }>(sql`
    SELECT count(*)::integer AS count, max(removed_at) AS latest FROM erasures
    WHERE team_id = ${team_id} AND removed_at IS NOT NULL`);
  return [
    absent,
    'It was not sent to this project, or was refused: the answer to its request says why.',
    ...(removed === undefined ? [] : [`Or it no longer exists: ${removedSentence(removed)}.`]),
    ...(erased === undefined || erased.latest === null
      ? []
      : [
          `Or it was erased: this project has ${counted(erased.count, 'erasure')}, the latest at ` +
            `${erased.latest}.`,
        ]),
  ].join(' ');
}
