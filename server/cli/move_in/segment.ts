import { counted } from '../../platform/counted.ts';
import type { Fields } from '../../platform/fields.ts';
import { askServer } from '../client/ask.ts';
import { refusalOf } from '../client/refusal.ts';
import { openKeys } from './inventory.ts';
import type { FoundOrganization, FoundProject, LeftBehind, MoveSource } from './inventory.ts';
import { addTool, toolNamed } from './tools.ts';

type Metadata = { id?: string; slug?: string; name?: string };
type Source = { id: string; slug: string; name?: string; metadata?: Metadata };
type Destination = {
  id: string;
  name?: string | null;
  sourceId: string;
  settings?: Fields;
  metadata?: Metadata;
};
type Subscription = {
  name: string;
  actionSlug: string;
  trigger: string;
  enabled: boolean;
  settings?: unknown;
};
type User = { email: string; name?: string; permissions?: { roleName?: string }[] };

/** Storage destinations of Segment, and Sluice's destinations for them. */
const storages: Record<string, string> = {
  'amazon-s3': 'S3',
  'aws-s3': 'S3',
  'google-cloud-storage': 'GCS',
  'azure-blob': 'AzureBlob',
};

/** Lists of a workspace without a counterpart here. */
const without_place: [path: string, field: string, what: string, why: string][] = [
  ['/warehouses', 'warehouses', 'warehouse', 'Create an export to the same database.'],
  ['/functions', 'functions', 'functions', 'Write them as plugins; their code has another form.'],
  ['/tracking-plans', 'trackingPlans', 'tracking plan', 'Import each: docs/tracking_plan.md.'],
  ['/reverse-etl-models', 'models', 'reverse ETL model', 'Sluice reads no warehouses.'],
];

/** Opens Segment's Public API. */
export function openSegment(url: string, key: string): MoveSource {
  const ask = async (path: string): Promise<{ data: Fields }> => {
    const answer = await askServer({ address: url, key }, { path });
    const refusal = refusalOf(answer, url);
    if (refusal !== undefined) throw refusal;
    return answer.body as { data: Fields };
  };
  const list = async <Row>(path: string, field: string): Promise<Row[]> => {
    const rows: Row[] = [];
    let cursor: string | undefined;
    do {
      const query = new URLSearchParams({ 'pagination[count]': '100' });
      if (cursor !== undefined) query.set('pagination[cursor]', cursor);
      const { data } = await ask(`${path}?${query.toString()}`);
      rows.push(...((data[field] ?? []) as Row[]));
      cursor = (data['pagination'] as { next?: string } | undefined)?.next;
    } while (cursor !== undefined);
    return rows;
  };
  return { title: 'Segment', read: async () => [await readWorkspace(ask, list)] };
}

async function readWorkspace(
  ask: (path: string) => Promise<{ data: Fields }>,
  list: <Row>(path: string, field: string) => Promise<Row[]>,
): Promise<FoundOrganization> {
  const { data } = await ask('/');
  const workspace = data['workspace'] as { id: string; name: string };
  const found: FoundOrganization = {
    id: workspace.id,
    name: workspace.name,
    projects: {},
    plugins: {},
    people: [],
    left: [],
  };
  const keyOf = openKeys();
  const by_source = new Map<string, { key: string; project: FoundProject }>();
  for (const { id, slug, name } of await list<Source>('/sources', 'sources')) {
    const title = name === undefined || name === '' ? slug : name;
    const [key, project] = [keyOf(title), { id, name: title, fields: {} }];
    found.projects[key] = project;
    by_source.set(id, { key, project });
  }
  const configKeyOf = openKeys();
  for (const one of await list<Destination>('/destinations', 'destinations')) {
    const source = by_source.get(one.sourceId);
    const { id, slug = '', name: kind = slug } = one.metadata ?? {};
    const name = one.name ?? kind;
    const tool = toolNamed(id, slug);
    if (source === undefined || tool === undefined) {
      found.left.push(leftDestination(name, slug, source === undefined));
      continue;
    }
    const path = `/destinations/${one.id}/subscriptions`;
    const mappings = await list<Subscription>(path, 'subscriptions');
    addTool(found, source.project, source.key, configKeyOf, {
      name,
      tool,
      settings: one.settings ?? {},
      mappings: mappings
        .filter(({ enabled }) => enabled)
        .map(({ name: title, actionSlug, trigger, settings }) => ({
          name: title,
          partnerAction: actionSlug,
          subscribe: trigger,
          mapping: settings ?? {},
        })),
    });
  }
  for (const { email, name = '', permissions = [] } of await list<User>('/users', 'users')) {
    const is_owner = permissions.some(({ roleName }) => roleName === 'Workspace Owner');
    found.people.push({ email, first_name: name.split(' ')[0] ?? '', level: is_owner ? 15 : 1 });
  }
  for (const [path, field, what, why] of without_place) {
    const rows = await list<unknown>(path, field).catch(() => []);
    if (rows.length > 0) found.left.push({ what: counted(rows.length, what), why });
  }
  return found;
}

function leftDestination(name: string, slug: string, has_no_source: boolean): LeftBehind {
  const storage = storages[slug];
  const why = has_no_source
    ? 'Its source does not exist.'
    : storage === undefined
      ? 'The catalogue has no such tool. Send its events by HTTP request, or by an export.'
      : `Create an export to ${storage}, and bring its files as history.`;
  return { what: `destination ${name} (${slug})`, why };
}
