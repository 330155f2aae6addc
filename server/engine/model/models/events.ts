import { filterCondition } from './event_filter.ts';
import type { EventFilter } from './event_filter.ts';
import type { Rectangle } from '../ledger/rectangles.ts';
import { ownColumn } from './column.ts';
import type { Column } from './column.ts';
import type { Model, QueryText } from './model.ts';
import { extractValue } from './readable_json.ts';
import { selectionCondition, teamParameter } from './selection.ts';

const uuid = ownColumn('uuid', 'uuid');
const timestamp = ownColumn('timestamp', 'timestamp');
const event = ownColumn('event', 'text');
const properties = ownColumn('properties', 'json');
const distinctId = ownColumn('distinct_id', 'text');
const insertedAt = ownColumn('inserted_at', 'timestamp');

/** Single characters of the key may also be escaped. */
const mayHave = (key: string): string =>
  `(position(properties, '${key}') > 0 OR position(properties, '\\\\u') > 0)`;

const valueOf = (key: string, type: 'json' | 'text'): string =>
  `nullIf(${extractValue('properties', { key: `'${key}'`, type, mayHave: mayHave(key) })}, '')`;

/**
 * Most events lack it, so the JSON is parsed only if the text contains the key or could contain it.
 */
const rareProperty = (name: string, key: string): Column => ({
  name,
  type: 'json',
  nullable: true,
  expression: `if(${mayHave(key)}, ${valueOf(key, 'json')}, NULL)`,
});

/** Most events have it, so a check before parsing takes longer than it saves. */
const usualProperty = (name: string, key: string): Column => ({
  name,
  type: 'text',
  nullable: true,
  expression: valueOf(key, 'text'),
});

function selectedEvents(teamId: number, selection: Rectangle[], filter: EventFilter): QueryText {
  const named = filterCondition(filter);
  const conditions = [
    'team_id = {team_id:Int64}',
    selectionCondition(selection, { event: 'timestamp', inserted: 'inserted_at' }),
    ...(named.text === '' ? [] : [named.text]),
  ];
  return {
    text: `(SELECT * FROM events WHERE ${conditions.join(' AND ')})`,
    parameters: { ...teamParameter(teamId), ...named.parameters },
  };
}

/** Events as they were ingested, one row per uuid, in order of insertion. */
export const events: Model = {
  name: 'events',
  has_event_time: true,
  key: 'uuid',
  order: 'inserted_at, uuid',
  changes: (condition) => `(SELECT team_id FROM events WHERE ${condition})`,
  relation: selectedEvents,
  versions: (teamId, selection, filter) => ({
    ...selectedEvents(teamId, selection, filter),
    records: 'count()',
  }),
  columns: {
    files: [
      uuid,
      timestamp,
      ownColumn('created_at', 'timestamp'),
      event,
      properties,
      distinctId,
      ownColumn('elements_chain', 'text'),
      {
        name: 'person_properties',
        type: 'json',
        nullable: true,
        expression: "nullIf(person_properties, '')",
      },
      ownColumn('person_id', 'uuid'),
      insertedAt,
    ],
    tables: [
      uuid,
      event,
      properties,
      {
        name: 'elements',
        type: 'json',
        nullable: true,
        expression: "if(elements_chain = '', NULL, toJSONString(elements_chain))",
      },
      rareProperty('set', '$set'),
      rareProperty('set_once', '$set_once'),
      distinctId,
      ownColumn('team_id', 'integer'),
      usualProperty('ip', '$ip'),
      usualProperty('site_url', '$current_url'),
      timestamp,
      insertedAt,
    ],
  },
};
