import { createServer } from 'node:http';
import type { LocalServer } from './loopback.ts';
import { listenLocally } from './loopback.ts';

/** A stand-in for Segment's Public API, made from its public reference. Its pages have one row. */
export async function openSegmentServer(key: string): Promise<LocalServer & { url: string }> {
  const lists: Record<string, [field: string, rows: unknown[]]> = {
    '/sources': [
      'sources',
      [
        { id: 's-1', slug: 'web', name: 'Web', enabled: true, writeKeys: ['w'], metadata: {} },
        { id: 's-2', slug: 'app', name: '', enabled: true, writeKeys: ['v'], metadata: {} },
      ],
    ],
    '/destinations': ['destinations', segment_destinations],
    '/destinations/d-1/subscriptions': [
      'subscriptions',
      [
        {
          id: 'sub-1',
          name: 'Send orders',
          actionSlug: 'send',
          enabled: true,
          trigger: 'type = "track" and event = "Order Completed"',
          settings: { url: 'https://example.com/in', method: 'POST', data: { '@path': '$.' } },
        },
        { id: 'sub-2', name: 'Off', actionSlug: 'send', enabled: false, trigger: 'type = "page"' },
      ],
    ],
    '/users': [
      'users',
      [
        {
          email: 'ada@example.com',
          name: 'Ada Byron',
          permissions: [{ roleName: 'Workspace Owner' }],
        },
      ],
    ],
    '/warehouses': ['warehouses', [{ id: 'wh' }]],
  };
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://segment');
    const answer = (status: number, body: unknown) => {
      response.writeHead(status, { 'content-type': 'application/vnd.segment.v1+json' });
      response.end(JSON.stringify(body));
    };
    if (request.headers.authorization !== `Bearer ${key}`)
      return answer(401, { errors: [{ type: 'unauthenticated', message: 'No such token.' }] });
    if (pathname === '/')
      return answer(200, { data: { workspace: { id: 'w', slug: 'acme', name: 'Acme' } } });
    const list = lists[pathname];
    if (list === undefined)
      return answer(404, { errors: [{ type: 'not-found', message: 'Not found.' }] });
    const [field, rows] = list;
    const at = Number(searchParams.get('pagination[cursor]') ?? 0);
    const next = at + 1 < rows.length ? { next: String(at + 1) } : {};
    const pagination = { current: String(at), totalEntries: rows.length, ...next };
    answer(200, { data: { [field]: rows.slice(at, at + 1), pagination } });
  });
  const local = await listenLocally(server);
  return { ...local, url: `http://127.0.0.1:${local.port}` };
}

const segment_destinations = [
  {
    id: 'd-1',
    name: 'Orders to us',
    enabled: true,
    sourceId: 's-1',
    settings: { sharedSecret: '••••••••••aefd' },
    metadata: { id: '614a3c7d791c91c41bae7599', slug: 'actions-webhook', name: 'Webhook' },
  },
  {
    id: 'd-2',
    name: null,
    enabled: true,
    sourceId: 's-1',
    settings: {},
    metadata: { id: '54521fd525e721e32a72ee91', slug: 'amazon-s3', name: 'Amazon S3' },
  },
];
