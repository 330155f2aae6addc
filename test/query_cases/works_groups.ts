import type { WorkingQuery } from './works_values.ts';

/** The events of the project's group. */
export const calls_of_group = [
  {
    n: 20,
    event: '$groupidentify',
    distinct_id: 'd4',
    properties:
      '{"$group_type":"company","$group_key":"acme","$group_set":{"plan":"pro","seats":5.0}}',
    timestamp: '2024-01-12 10:00:00',
    inserted_at: '2024-01-12 10:00:01',
  },
  {
    n: 40,
    event: '$groupidentify',
    distinct_id: 'd4',
    properties:
      '{"$group_type":"company","$group_key":"acme","$group_set":{"plan":"free","city":"Bonn"}}',
    timestamp: '2024-01-11 10:00:00',
    inserted_at: '2024-01-13 10:00:00',
  },
];

/**
 * For an export of groups: the project has one group, with two calls, the earlier of which arrived
 * late.
 */
export const working_groups: WorkingQuery[] = [
  [
    'SELECT * FROM groups',
    "SELECT 11, 'company:acme', 'company', 'acme', " +
      '\'{"city":"Bonn","plan":"pro","seats":5.0}\', min(timestamp), ' +
      'toInt64(toUnixTimestamp64Micro(max(inserted_at))), false, max(inserted_at) ' +
      "FROM mine WHERE event = '$groupidentify'",
  ],
  [
    "SELECT group_key, properties.plan AS plan FROM groups WHERE group_type = 'company' AND " +
      'NOT is_deleted',
    "SELECT 'acme', 'pro'",
  ],
  [
    'SELECT g.properties.plan AS plan, count(e.uuid) AS n FROM groups g JOIN events e ON ' +
      'e.properties.$groups.company = g.group_key GROUP BY plan',
    "SELECT 'pro', 1",
  ],
  [
    'SELECT e.event, g.group_id FROM groups g JOIN events e ON ' +
      "JSONExtractString(e.properties, '$groups', 'company') = g.group_key",
    "SELECT 'purchase', 'company:acme'",
  ],
  ['SELECT max(group_version) AS v FROM groups', 'SELECT 1705140000000000'],
];
