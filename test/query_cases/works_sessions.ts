import type { WorkingQuery } from './works_values.ts';

/** For an export of sessions: the project has one session, of the two purchases of January. */
export const working_sessions: WorkingQuery[] = [
  [
    'SELECT session_id, distinct_id, event_count, start_timestamp, end_timestamp FROM sessions',
    "SELECT 's1', 'd2', toInt64(2), min(timestamp), max(timestamp) FROM mine WHERE " +
      "event = 'purchase'",
  ],
  [
    'SELECT session_duration / 60 AS minutes, is_bounce, channel_type FROM sessions WHERE ' +
      "entry_utm_source IS NULL AND session_id LIKE 's%'",
    "SELECT 2670 / 60, NULL, 'Direct'",
  ],
  [
    'SELECT s.session_id, count(e.uuid) AS n FROM sessions s JOIN events e ON ' +
      'e.properties.$session_id = s.session_id GROUP BY s.session_id',
    "SELECT 's1', 2",
  ],
  ['SELECT count() AS n FROM sessions s JOIN persons p ON p.person_id = s.person_id', 'SELECT 1'],
  [
    'SELECT max(session_version) AS v FROM sessions WHERE NOT is_deleted',
    'SELECT 1704877200000000',
  ],
];
