import { readFileSync } from 'node:fs';
import type { Fields } from '../../platform/fields.ts';
import { isFields } from '../../platform/fields.ts';
import { parseJson } from '../../platform/json/parse_json.ts';
import { askServer } from '../client/ask.ts';
import { refusalOf } from '../client/refusal.ts';
import { UserError, WrongUsageError } from '../user_error.ts';
import { openKeys, secretReference } from './inventory.ts';
import type { FoundOrganization, FoundProject, MoveSource } from './inventory.ts';
import { addTool, toolNamed } from './tools.ts';

type Destination = {
  name: string;
  config?: Fields;
  destinationDefinition: {
    name: string;
    displayName?: string;
    config?: { secretKeys?: string[] };
  };
  transformations?: unknown[];
};
type Source = { id: string; name: string; destinations?: Destination[] };

/** RudderStack's names of tools, and Sluice's. */
const tools: Record<string, string> = {
  AM: 'amplitude',
  BRAZE: 'braze',
  CUSTOMERIO: 'customerio',
  FACEBOOK_CONVERSIONS: 'facebook-conversions-api',
  GA4: 'google-analytics-4',
  HS: 'hubspot',
  INTERCOM: 'intercom',
  ITERABLE: 'iterable',
  KLAVIYO: 'klaviyo',
  MP: 'mixpanel',
  SENDGRID: 'sendgrid',
  SLACK: 'slack',
  SNAPCHAT_CONVERSION: 'snap-conversions-api',
  TIKTOK_ADS: 'tiktok-conversions',
  WEBHOOK: 'webhook',
};

/** Stores and databases: Sluice's destination, and its keys by RudderStack's keys. */
const stores: Record<string, [type: string, keys: Record<string, string>]> = {
  S3: [
    'S3',
    {
      bucket_name: 'bucketName',
      prefix: 'prefix',
      region: 'region',
      aws_access_key_id: 'accessKeyID',
      aws_secret_access_key: 'accessKey',
    },
  ],
  POSTGRES: [
    'Postgres',
    {
      host: 'host',
      port: 'port',
      database: 'database',
      user: 'user',
      password: 'password',
      schema: 'namespace',
    },
  ],
  SNOWFLAKE: [
    'Snowflake',
    {
      account: 'account',
      warehouse: 'warehouse',
      database: 'database',
      user: 'user',
      password: 'password',
      role: 'role',
      schema: 'namespace',
    },
  ],
};

/** Opens RudderStack: its exported configuration in a file, or the address of its control plane. */
export function openRudderstack(from: string, key: string): MoveSource {
  return {
    title: 'RudderStack',
    read: async () => [organizationOf(await readWorkspace(from, key))],
  };
}

async function readWorkspace(from: string, key: string): Promise<Fields> {
  const read = /^https?:/.test(from) ? await askWorkspace(from, key) : parseJson(fileText(from));
  if (isFields(read) && Array.isArray(read['sources'])) return read;
  throw new UserError(`${from} has no list of sources: is it an exported workspace configuration?`);
}

async function askWorkspace(from: string, key: string): Promise<unknown> {
  const answer = await askServer(
    { address: from, key: '' },
    {
      path: '/workspaceConfig?fetchAll=true',
      headers: { authorization: `Basic ${Buffer.from(`${key}:`).toString('base64')}` },
    },
  );
  const refusal = refusalOf(answer, from);
  if (refusal !== undefined) throw refusal;
  return answer.body;
}

function fileText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new WrongUsageError(`--from: ${path} cannot be read: ${code}.`);
  }
}

function organizationOf(workspace: Fields): FoundOrganization {
  const found: FoundOrganization = {
    id: textOf(workspace['workspaceId'], 'workspace'),
    name: textOf(workspace['name'], 'RudderStack'),
    projects: {},
    plugins: {},
    people: [],
    left: [],
  };
  const keyOf = openKeys();
  const configKeyOf = openKeys();
  for (const { id, name, destinations = [] } of workspace['sources'] as Source[]) {
    const [key, project] = [keyOf(name), { id, name, fields: {} as Fields }];
    found.projects[key] = project;
    for (const one of destinations) addDestination(found, key, project, configKeyOf, one);
  }
  found.left.push({
    what: 'people of the workspace',
    why: 'The configuration does not list them. Invite them, or write them into the file.',
  });
  return found;
}

function textOf(value: unknown, otherwise: string): string {
  return typeof value === 'string' ? value : otherwise;
}

function addDestination(
  found: FoundOrganization,
  key: string,
  project: FoundProject,
  keyOf: (name: string) => string,
  { name, config = {}, destinationDefinition: kind, transformations = [] }: Destination,
): void {
  const what = `${project.name}: destination ${name} (${kind.name})`;
  if (transformations.length > 0)
    found.left.push({ what: `${what}, transformations`, why: 'Write them as ingestion rules.' });
  const store = stores[kind.name];
  const tool = toolNamed(undefined, tools[kind.name] ?? kind.name.toLowerCase());
  if (store !== undefined) {
    const export_key = keyOf(name);
    const exports = (project.fields['batch_exports'] ??= {}) as Fields;
    exports[export_key] = storeExport(name, store, config, (field) =>
      secretReference(key, export_key, field),
    );
  } else if (tool !== undefined) {
    // Its settings have other names, so a person enters the tool's settings.
    addTool(found, project, key, keyOf, { name, tool, settings: {}, mappings: [] });
    found.left.push({
      what: `${what}, settings`,
      why: 'They have other names here: enter them.',
    });
  } else
    found.left.push({
      what,
      why: 'The catalogue has no such tool. Send its events by HTTP request, or by an export.',
    });
}

function storeExport(
  name: string,
  [type, keys]: (typeof stores)[string],
  config: Fields,
  secretOf: (field: string) => unknown,
): Fields {
  const entries = Object.entries(keys).flatMap(([ours, theirs]): [string, unknown][] => {
    if (/secret|password|key_id/.test(ours)) return [[ours, secretOf(ours)]];
    const value = config[theirs] ?? '';
    if (value === '') return ours === 'prefix' ? [[ours, 'sluice']] : [];
    return [[ours, ours === 'port' ? Number(value) : value]];
  });
  const table = type === 'S3' ? {} : { table_name: 'events' };
  const destination = { type, config: { ...Object.fromEntries(entries), ...table } };
  return { name, interval: 'hour', paused: true, destination };
}
