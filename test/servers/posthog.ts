import { createServer } from 'node:http';
import type { LocalServer } from './loopback.ts';
import { listenLocally } from './loopback.ts';

/** An event of the stand-in. */
export type PosthogEvent = {
  uuid: string;
  event: string;
  distinct_id: string;
  timestamp: string;
  properties: Record<string, unknown>;
};

/**
 * A stand-in for PostHog's API, made from its public reference. It has organizations, projects,
 * members, batch exports, lists that Sluice has no place for, and the two queries of a move. It
 * answers one key only. `fail_pages` is the number of pages of events after which it ends a
 * connection.
 */
export async function openPosthogServer(
  key: string,
  events: PosthogEvent[],
  { fail_pages = Infinity }: { fail_pages?: number } = {},
): Promise<LocalServer & { url: string; asked: string[] }> {
  let pages = 0;
  const asked: string[] = [];
  const lists: Record<string, unknown[]> = {
    '/api/organizations/': [{ id: 'o-1', name: 'Acme', slug: 'acme' }],
    '/api/organizations/o-1/projects/': [{ id: 7, name: 'Web shop', timezone: 'Europe/Berlin' }],
    '/api/organizations/o-1/members/': [
      { id: 'm', level: 15, user: { email: 'ada@example.com', first_name: 'Ada' } },
      { id: 'n', level: 1, user: { email: 'bob@example.com', first_name: 'Bob' } },
    ],
    '/api/organizations/o-1/invites/': [{ target_email: 'eve@example.com', level: 8 }],
    '/api/projects/7/batch_exports/': posthog_exports,
    '/api/projects/7/dashboards/': [{}, {}],
    '/api/projects/7/feature_flags/': [{}],
  };
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '', 'http://posthog');
    asked.push(`${request.method} ${pathname}`);
    const answer = (status: number, body: unknown) => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(body));
    };
    if (request.headers.authorization !== `Bearer ${key}`)
      return answer(401, { type: 'authentication_error', detail: 'Invalid API key.' });
    const list = lists[pathname];
    if (list !== undefined)
      return answer(200, { count: list.length, next: null, previous: null, results: list });
    if (pathname === '/api/projects/7/')
      return answer(200, { id: 7, name: 'Web shop', timezone: 'Europe/Berlin' });
    if (pathname !== '/api/projects/7/query/')
      return answer(404, { type: 'invalid_request', detail: 'Endpoint not found.' });
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => (body += text));
    request.on('end', () => {
      const { query } = (JSON.parse(body) as { query: { query: string } }).query;
      const isCount = query.includes('GROUP BY');
      if (!isCount && ++pages > fail_pages) return void request.socket.destroy();
      answer(200, { results: isCount ? countsOf(query, events) : pageOf(query, events) });
    });
    return undefined;
  });
  const local = await listenLocally(server);
  return { ...local, url: `http://127.0.0.1:${local.port}`, asked };
}

const posthog_exports = [
  {
    id: 'e-3',
    name: 'To Databricks',
    model: 'events',
    interval: 'hour',
    paused: false,
    destination: { type: 'Databricks', config: { http_path: '/sql' } },
  },
  {
    id: 'e-2',
    name: 'With a query',
    model: 'events',
    interval: 'day',
    paused: false,
    hogql_query: 'SELECT nothing_like_this(event) FROM events',
    destination: { type: 'NoOp', config: {} },
  },
  {
    id: 'e-1',
    name: 'To S3',
    model: 'events',
    interval: 'hour',
    paused: false,
    destination: {
      type: 'S3',
      config: {
        bucket_name: 'acme-events',
        region: 'eu-central-1',
        prefix: 'posthog/',
        file_format: 'Parquet',
        compression: 'zstd',
        use_virtual_style_addressing: false,
        aws_access_key_id: 'AKIAEXAMPLE',
        unheard_of: 1,
      },
    },
  },
];

function rangeOf(query: string, events: PosthogEvent[]): PosthogEvent[] {
  const [, from = ''] = />= toDateTime\('([^']+)'/.exec(query) ?? [];
  const [, to = ''] = /timestamp < toDateTime\('([^']+)'/.exec(query) ?? [];
  return events.filter(({ timestamp }) => timestamp >= from && timestamp < to);
}

function pageOf(query: string, events: PosthogEvent[]): unknown[][] {
  const [, limit = '0'] = /LIMIT (\d+)$/.exec(query.trim()) ?? [];
  const [, at, id] =
    /\(timestamp, uuid\) > \(toDateTime64\('([^']+)'.*?toUUID\('([^']+)'/s.exec(query) ?? [];
  const place = (one: { timestamp: string; uuid: string }) => `${one.timestamp} ${one.uuid}`;
  return rangeOf(query, events)
    .toSorted((one, other) => (place(one) < place(other) ? -1 : 1))
    .filter((one) => at === undefined || place(one) > `${at} ${id}`)
    .slice(0, Number(limit))
    .map(({ uuid, event, distinct_id, properties, timestamp }) => [
      uuid,
      event,
      distinct_id,
      JSON.stringify(properties),
      timestamp,
    ]);
}

function countsOf(query: string, events: PosthogEvent[]): unknown[][] {
  const counts = new Map<string, { rows: number; ids: Set<string> }>();
  for (const { timestamp, event, uuid } of rangeOf(query, events)) {
    const key = JSON.stringify([timestamp.slice(0, 10), event]);
    const count = counts.get(key) ?? { rows: 0, ids: new Set() };
    count.rows += 1;
    count.ids.add(uuid);
    counts.set(key, count);
  }
  return [...counts].map(([key, { rows, ids }]) => [
    ...(JSON.parse(key) as string[]),
    rows,
    ids.size,
  ]);
}
