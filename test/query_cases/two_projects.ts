import { join } from 'node:path';
import { openClickHouse } from '../../server/platform/clickhouse/client.ts';
import type { ClickHouse } from '../../server/platform/clickhouse/client.ts';
import { migrateClickHouse } from '../../server/platform/clickhouse/migrate.ts';
import { calls_of_group } from './works_groups.ts';
import type { QueryRun } from '../../server/engine/query/query.ts';

// The project under test, and the one whose rows no query may see.
const own_project = 11;
const other_project = 22;

/**
 * The mark in every value of the other project, which reveals it in a result. No value of ours
 * contains it, forwards or backwards.
 */
export const foreign_mark = /foreign|FOREIGN|864209|ffffffff|2031-/;

/** The run of the tests: insertion times in January 2024. */
export const january: QueryRun = {
  team_id: own_project,
  selection: [
    {
      event_from: -Infinity,
      event_to: Infinity,
      inserted_from: Date.UTC(2024, 0, 1),
      inserted_to: Date.UTC(2024, 1, 1),
    },
  ],
  data_interval_end: Date.UTC(2024, 1, 1),
};

type EventRow = {
  n: number;
  event: string;
  distinct_id: string;
  properties: string;
  person_properties?: string;
  timestamp: string;
  inserted_at: string;
  elements_chain?: string;
};
type PersonRow = {
  distinct_id: string;
  n: number;
  properties: string;
  person_version: number;
  is_deleted?: number;
  inserted_at: string;
};

const events: EventRow[] = [
  {
    n: 1,
    event: 'sign up',
    distinct_id: 'd1',
    properties:
      '{"plan":"free","price":10.5,"$browser":"Chrome","tags":["a","b"],"nested":{"k":{"z":[1,2]}},"ok":true,"n":3,"id":9007199254740993,"a ' +
      'b":"space","when":"2024-01-05T10:00:00Z","uid":"01890000-0000-7000-8000-000000000001"}',
    person_properties: '{"plan":"pro","name":"Ann"}',
    timestamp: '2024-01-05 10:00:00.123456',
    inserted_at: '2024-01-05 10:00:10',
    elements_chain: 'a:b',
  },
  {
    n: 2,
    event: 'page view',
    distinct_id: 'd1',
    properties:
      '{"$browser":"Firefox","price":"7","url":"https://www.example.com/a/b?x=1&y=2#f","n":12,"ok":false}',
    person_properties: '{"plan":"pro","name":"Ann"}',
    timestamp: '2024-01-06 23:30:00',
    inserted_at: '2024-01-06 23:30:05',
  },
  {
    n: 3,
    event: 'purchase',
    distinct_id: 'd2',
    properties:
      '{"$session_id":"s1","$groups":{"company":"acme"},"price":99.99,"currency":"EUR","items":[{"sku":"s1","q":2},{"sku":"s2","q":1}],"n":null}',
    timestamp: '2024-01-10 08:15:30',
    inserted_at: '2024-01-10 08:15:31',
  },
  {
    n: 4,
    event: 'purchase',
    distinct_id: 'd2',
    properties:
      '{"$session_id":"s1","price":1e400,"currency":"EUR","big":123456789012345678901234567890,"o":{"v":12345678901234567890123,"w":"x"},"digits":"77"}',
    timestamp: '2024-01-10 09:00:00',
    inserted_at: '2024-01-10 09:00:00',
  },
  {
    n: 5,
    event: 'page view',
    distinct_id: 'd3',
    properties: '{"n":-5}',
    timestamp: '2024-01-31 23:59:59.999999',
    inserted_at: '2024-01-31 23:59:59.999999',
  },
  {
    n: 6,
    event: 'weird \'quote\' "double" \\ back',
    distinct_id: 'd3',
    properties: '{"s":"line\\nbreak\\ttab","q":"a\\"b","u":"größe 😀","lone":"\\ud800"}',
    timestamp: '2019-03-31 01:30:00',
    inserted_at: '2024-01-15 12:00:00',
  },
  {
    n: 7,
    event: 'page view',
    distinct_id: 'd1',
    properties: '{"$browser":"Firefox","n":12}',
    timestamp: '2024-01-06 23:30:00',
    inserted_at: '2024-01-06 23:30:05',
  },
  {
    n: 8,
    event: 'before',
    distinct_id: 'd1',
    properties: '{"price":1000000}',
    timestamp: '2023-12-24 00:00:00',
    inserted_at: '2023-12-24 00:00:00',
  },
  {
    n: 9,
    event: 'after',
    distinct_id: 'd1',
    properties: '{"price":2000000}',
    timestamp: '2024-01-20 00:00:00',
    inserted_at: '2024-02-01 00:00:00',
  },
];

const persons: PersonRow[] = [
  {
    distinct_id: 'd1',
    n: 1,
    properties: '{"plan":"free","age":30,"city":"Bonn"}',
    person_version: 1,
    inserted_at: '2023-12-20 00:00:00',
  },
  {
    distinct_id: 'd1',
    n: 1,
    properties: '{"plan":"pro","age":31,"city":"Bonn"}',
    person_version: 2,
    inserted_at: '2024-01-05 10:00:10',
  },
  {
    distinct_id: 'd1',
    n: 1,
    properties: '{"plan":"later","age":99}',
    person_version: 3,
    inserted_at: '2024-02-02 00:00:00',
  },
  {
    distinct_id: 'd2',
    n: 2,
    properties: '{"plan":"free"}',
    person_version: 1,
    is_deleted: 1,
    inserted_at: '2024-01-10 08:00:00',
  },
  {
    distinct_id: 'd3',
    n: 3,
    properties: '{"plan":"team","age":7}',
    person_version: 5,
    inserted_at: '2023-12-31 00:00:00',
  },
];

/**
 * Two stores. `both` has the rows of two projects, `alone` only those of the own project. If a
 * query gives different results over the two, it has read another project. In `alone`, the views
 * `mine`, `people` and `people_changed` show the rows of the run and of its look-ups.
 */
export type TwoProjects = { both: ClickHouse; alone: ClickHouse; close(): Promise<void> };

const migrations = join(import.meta.dirname, '../../migrations/clickhouse');

/** Fills a migrated ClickHouse and a second database beside it. */
export async function openTwoProjects(url: string): Promise<TwoProjects> {
  const both = openClickHouse(url, { application: 'sluice-test' });
  const database = `${new URL(url).pathname.slice(1) || 'default'}_alone`;
  await both.command({ query: `CREATE DATABASE ${database}` });
  const alone = openClickHouse(Object.assign(new URL(url), { pathname: `/${database}` }).href, {
    application: 'sluice-test',
  });
  await migrateClickHouse(alone, migrations);
  for (const store of [both, alone]) {
    await insert(store, 'events', events.map(eventRow));
    await insert(store, 'persons', persons.map(personRow));
  }
  await insert(both, 'events', events.map(foreignEvent));
  await insert(both, 'persons', persons.map(foreignPerson));
  const columns = "* REPLACE (nullIf(person_properties, '') AS person_properties)";
  await view(
    alone,
    'mine',
    `SELECT ${columns} FROM events WHERE inserted_at >= '2024-01-01'
      AND inserted_at < '2024-02-01'`,
  );
  const latest = 'ORDER BY distinct_id, person_version DESC LIMIT 1 BY distinct_id';
  await view(alone, 'people', `SELECT * FROM persons WHERE inserted_at < '2024-02-01' ${latest}`);
  await view(
    alone,
    'people_changed',
    `SELECT * FROM persons WHERE inserted_at >= '2024-01-01'
      AND inserted_at < '2024-02-01' ${latest}`,
  );
  const close = async () => {
    await alone.close();
    await both.command({ query: `DROP DATABASE IF EXISTS ${database}` });
    await both.close();
  };
  return { both, alone, close };
}

/** Adds the events of a group, which the counts of other cases leave out. */
export async function addCalls({ both, alone }: TwoProjects): Promise<void> {
  for (const store of [both, alone]) await insert(store, 'events', calls_of_group.map(eventRow));
  await insert(both, 'events', calls_of_group.map(foreignEvent));
}

async function insert(store: ClickHouse, table: string, values: unknown[]): Promise<void> {
  await store.insert({ table, values, format: 'JSONEachRow' });
}

async function view(store: ClickHouse, name: string, select: string): Promise<void> {
  await store.command({ query: `CREATE VIEW ${name} AS ${select}` });
}

const digits = (n: number) => n.toString().padStart(12, '0');

function eventRow({ n, person_properties = '', elements_chain = '', ...row }: EventRow) {
  const uuid = `01890000-0000-7000-8000-${digits(n)}`;
  const person_id = `01890000-0000-7000-9000-${digits(Number(row.distinct_id.slice(1)))}`;
  return {
    team_id: own_project,
    uuid,
    person_id,
    person_properties,
    elements_chain,
    created_at: row.inserted_at,
    ...row,
  };
}

function personRow({ n, is_deleted = 0, ...row }: PersonRow) {
  const person_id = `01890000-0000-7000-9000-${digits(n)}`;
  return {
    team_id: own_project,
    person_id,
    person_distinct_id_version: row.person_version,
    is_deleted,
    created_at: row.inserted_at,
    ...row,
  };
}

/**
 * The same insertion times, so that only the project excludes the row; everything else shows its
 * origin.
 */
function foreignEvent({ n, inserted_at }: EventRow) {
  const id = `ffffffff-0000-7000-8000-${digits(n)}`;
  const properties = `{"plan":"foreign","price":864209${n},"$browser":"foreign","currency":"foreign","n":864209,"ok":true,"secret":"foreign","$group_type":"foreign","$group_key":"foreign"}`;
  const timestamp = `2031-0${n % 10 || 1}-01 00:00:00.777777`;
  return {
    team_id: other_project,
    uuid: id,
    event: n < 10 ? `foreign ${n}` : '$groupidentify',
    distinct_id: `foreign_${n}`,
    person_id: id,
    properties,
    person_properties: properties,
    elements_chain: 'foreign',
    timestamp,
    created_at: timestamp,
    inserted_at,
  };
}

function foreignPerson({ n, person_version, inserted_at }: PersonRow) {
  const created_at = '2031-01-01 00:00:00.777777';
  const properties = `{"plan":"foreign","age":864209,"city":"foreign"}`;
  return {
    team_id: other_project,
    distinct_id: `foreign_${n}`,
    person_id: `ffffffff-0000-7000-9000-${digits(n)}`,
    properties,
    person_version: person_version + 864_209_000,
    person_distinct_id_version: 864_209,
    is_deleted: 0,
    merged_into: 'foreign',
    created_at,
    inserted_at,
  };
}
