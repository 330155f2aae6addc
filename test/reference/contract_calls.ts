import { readFileSync } from 'node:fs';
import { readExamples } from '../../server/api/reference/reference.ts';
import type { Json, JsonObject } from '../../server/platform/http/openapi/json.ts';
import { insertRunRow, newExport } from '../factories/batch_exports/batch_exports.ts';
import { collection_names, packageFiles, setPluginsLevel } from '../factories/plugins/plugins.ts';
import { listOperations } from '../fuzz/operations.ts';
import type { FuzzedDocument } from '../fuzz/operations.ts';
import type { TestOrganization } from '../harness.ts';
import type { StoryWorld } from './world.ts';

/** A call of a generated client: its operation, its input, and the answer. */
export type ContractCall = {
  id: string;
  tag: string;
  method: string;
  path: string;
  parameters: Record<string, string>;
  body?: Json;
  status: number;
};

type Endpoint = { method: string; path: string; status: number };

const contract = JSON.parse(
  readFileSync(new URL('../house/contract.json', import.meta.url), 'utf8'),
) as { endpoints: Endpoint[] };

/**
 * Returns the calls of all endpoints of the contract in a separate organization that has everything
 * that they name: no call needs another's answer. Bodies are those of the examples, except for
 * names of the organization.
 */
export async function contractCalls(
  world: StoryWorld,
): Promise<{ key: string; calls: ContractCall[] }> {
  const home = await world.harness.newOrganization({ name: 'Stranger' });
  await setPluginsLevel(world.harness, home, 9);
  const ids = await furnish(world, home);
  const examples = await readExamples();
  const document = world.harness.app.swagger() as unknown as FuzzedDocument;
  const operations = new Map(
    listOperations(document).map((one) => [`${one.method} ${one.path}`, one]),
  );
  const calls = contract.endpoints.map(({ method, path: route, status }): ContractCall => {
    const path = route.replaceAll(/:(\w+)/g, '{$1}');
    const { id, tags, body: schema } = operations.get(`${method} ${path}`)!;
    const own = ids.bodies[id] ?? examples[id]?.body;
    return {
      id,
      tag: tags[0]!,
      method,
      path,
      parameters: parametersOf(ids, method, path),
      ...(schema === undefined ? {} : { body: own ?? {} }),
      status,
    };
  });
  // The organization goes last.
  const isLast = ({ id }: ContractCall) => Number(id === 'organizations_destroy');
  return { key: home.key, calls: calls.toSorted((one, other) => isLast(one) - isLast(other)) };
}

type Ids = {
  /**
   * For each collection: its objects, the effect of each DELETE, and the body of update_source/.
   */
  kept: Record<string, string>;
  taken: (method: string, path: string) => string | undefined;
  bodies: Record<string, JsonObject>;
};

function parametersOf({ kept, taken }: Ids, method: string, path: string): Record<string, string> {
  const segments = path.split('/');
  return Object.fromEntries(
    segments.flatMap((segment, index) => {
      if (!segment.startsWith('{')) return [];
      const name = segment.slice(1, -1);
      const isOwn = name === 'id' || name === 'user__uuid';
      const own = isOwn ? taken(method, path) : undefined;
      return [[name, own ?? kept[segments[index - 1]!] ?? '']];
    }),
  );
}

async function furnish(world: StoryWorld, home: TestOrganization): Promise<Ids> {
  const { harness } = world;
  const organization = `/api/organizations/${home.organization.id}/`;
  const create = async (path: string, body: object) => {
    const { status, body: made, text } = await home.ask('POST', path, body);
    if (status >= 300) throw new Error(`${path} answered ${text}`);
    return String(made.id);
  };
  const domain = (name: string) => ({ domain: `${name}-${home.project.id}.example.com` });
  const kept: Record<string, string> = {
    organizations: home.organization.id,
    projects: String(home.project.id),
    members: (await harness.newMember(home.organization.id, 1)).user.uuid,
    batch_exports: (await newExport(home)).id,
    domains: await create(`${organization}domains/`, domain('kept')),
  };
  kept['runs'] = await insertRunRow(harness, kept['batch_exports']!);
  const gone: Record<string, string> = {
    '/api/organizations/{id}/': home.organization.id,
    members: (await harness.newMember(home.organization.id, 1)).user.uuid,
    domains: await create(`${organization}domains/`, domain('gone')),
    invites: await create(`${organization}invites/`, { target_email: 'gone@example.com' }),
  };
  const exports = [(await newExport(home)).id, (await newExport(home)).id] as string[];
  const written: Record<string, string> = {};
  for (const name of collection_names) {
    const plugin = `stranger-${name.replaceAll('_', '-')}-${home.project.id}`;
    world.registry.publish(plugin, '1.0.0', packageFiles(name));
    kept[name] = await create(`${organization}${name}/`, { plugin_type: 'custom', url: plugin });
    world.registry.publish(plugin, '1.1.0', packageFiles(name, { description: 'Does more.' }));
    written[name] = await create(`${organization}${name}/`, { plugin_type: 'source', name: 'Own' });
    gone[name] = await create(`${organization}${name}/`, { plugin_type: 'source', name: 'Gone' });
  }
  return {
    kept,
    taken: (method, path) => {
      const collection = path.split('/').findLast((part) => part !== '' && /^\w+$/.test(part))!;
      const of_source = /\/(\w+)\/\{id\}\/(update_)?source\/$/.exec(path)?.[1];
      if (of_source !== undefined) return written[of_source];
      if (method !== 'DELETE') return undefined;
      return collection === 'batch_exports' ? exports.pop() : (gone[path] ?? gone[collection]);
    },
    bodies: {
      organizations_domains_create: domain('new'),
      organizations_domains_partial_update: {
        saml_entity_id: 'https://idp.acme.example/entity',
      },
      ...Object.fromEntries(
        collection_names.flatMap((name): [string, JsonObject][] => [
          [`organizations_${name}_create`, { plugin_type: 'source', name: 'New' }],
          [`organizations_${name}_partial_update`, { description: 'Changed by a stranger.' }],
          [`organizations_${name}_update_source_partial_update`, { source: packageFiles(name) }],
        ]),
      ),
    },
  };
}
