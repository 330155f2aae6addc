import type { Rectangle } from '../ledger/rectangles.ts';
import { ownColumn } from './column.ts';
import type { Column } from './column.ts';
import { asOf, changedIds, within } from './made_of_events.ts';
import type { Model, QueryText } from './model.ts';
import { teamParameter } from './selection.ts';

const columns: Column[] = [
  ownColumn('team_id', 'integer'),
  ownColumn('group_id', 'text'),
  ownColumn('group_type', 'text'),
  ownColumn('group_key', 'text'),
  ownColumn('properties', 'json'),
  { name: 'created_at', type: 'timestamp', nullable: true, expression: 'created_at' },
  ownColumn('group_version', 'integer'),
  ownColumn('is_deleted', 'boolean'),
  ownColumn('inserted_at', 'timestamp'),
];

/** Returns the groups of calls and removals that meet a condition, with each change. */
const changes = (condition: string) => changedIds('group_id', 'group_removals', condition);

/**
 * Returns the groups that changed in the selection, computed from all their calls up to its end:
 * for each property, the value of the latest call that set it. The projection `groups` stores the
 * calls. Each call is one row without a property and one row for each property that it sets.
 * Property values are JSON text and never empty.
 */
function selectedGroups(teamId: number, selection: Rectangle[]): QueryText {
  const ids = `(SELECT group_id FROM ${changes(within(selection))})`;
  const known = `${asOf(selection)} AND group_id IN ${ids}`;
  // A clause, because ClickHouse uses no projection below the function arrayJoin.
  const calls = `(SELECT group_id, inserted_at AS changed_at, group_at AS called_at,
      group_number AS number, 1 AS is_call, property
    FROM events ARRAY JOIN arrayPushFront(group_set, ('', '')) AS property WHERE ${known}
    UNION ALL SELECT group_id, inserted_at AS changed_at, inserted_at AS called_at,
      toUInt128(0) AS number, 0 AS is_call, ('', '') AS property
    FROM group_removals WHERE ${known})`;
  const values = `(SELECT group_id, tupleElement(property, 1) AS name,
      argMaxIf(tupleElement(property, 2), (called_at, number), tupleElement(property, 2) != '')
        AS value,
      minIfOrNull(called_at, is_call = 1) AS first_at, max(changed_at) AS last_at,
      countIf(is_call = 1) AS calls
    FROM ${calls} GROUP BY group_id, name)`;
  const merged = `concat('{', arrayStringConcat(arraySort(
      groupArrayIf(concat(replaceAll(toJSONString(name), '\\\\/', '/'), ':', value),
        value != '')), ','), '}')`;
  return {
    text: `(SELECT {team_id:Int64} AS team_id, group_id,
        substring(group_id, 1, position(group_id, ':') - 1) AS group_type,
        substring(group_id, position(group_id, ':') + 1) AS group_key,
        properties, created_at, toUnixTimestamp64Micro(inserted_at) AS group_version, is_deleted,
        inserted_at
      FROM (SELECT group_id, ${merged} AS properties, min(first_at) AS created_at,
          max(last_at) AS inserted_at, sum(calls) = 0 AS is_deleted
        FROM ${values} GROUP BY group_id))`,
    parameters: teamParameter(teamId),
  };
}

/**
 * Groups: the merged `$groupidentify` events of one type and key, one row per changed group. A
 * group's version is its latest change: the insertion of a call, or a removal of calls.
 */
export const groups: Model = {
  name: 'groups',
  has_event_time: false,
  changes,
  key: 'group_id',
  order: 'inserted_at, group_id',
  relation: selectedGroups,
  versions: (teamId, selection) => ({
    text: `(SELECT group_id, inserted_at FROM ${changes(within(selection))})`,
    parameters: teamParameter(teamId),
    records: 'uniqExact(group_id)',
  }),
  columns: { files: columns, tables: columns },
  settings: {
    // ClickHouse aggregates the groups of a long interval on disk.
    max_bytes_before_external_group_by: 500_000_000,
    max_bytes_ratio_before_external_group_by: 0,
    // The text contains the selection several times.
    max_query_size: 16_000_000,
  },
  words: {
    tables: ['group_removals'],
    columns: [
      'group_at',
      'group_number',
      'group_set',
      'changed_at',
      'called_at',
      'number',
      'is_call',
      'property',
      'name',
      'value',
      'first_at',
      'last_at',
      'calls',
    ],
    functions: ['toUInt128', 'toUnixTimestamp64Micro', 'arrayPushFront'],
  },
};
