import { Type } from 'typebox';
import type { ApiCall, ApiRecord } from '../api_call.ts';
import { RefusedError, entriesOf, pick, read, readKey } from '../api_call.ts';
import { defineTool } from '../tool.ts';

const projects_max = 100;

/** Lists the projects and rights of a key; omits projects that it may not see. */
export const list_projects = defineTool({
  name: 'list_projects',
  title: 'List projects',
  description:
    'The rights of this key (scopes), and the organizations and projects that it can read. ' +
    'Start here: other tools need these ids.',
  input: Type.Object({}),
  scopes: [],
  run: async (_args, { api }) => {
    const key = await readKey(api);
    const [organizations, projects] = await Promise.all([
      listed(api, '/api/organizations/', [
        'id',
        'name',
        'membership_level',
        'forbids_agent_writes',
      ]),
      listed(api, '/api/projects/', ['id', 'name', 'organization', 'timezone']),
    ]);
    return {
      key: pick(key, ['label', 'name', 'level', 'scopes', 'expires_at']),
      organizations,
      projects,
    };
  },
});

/** Returns the list; null if the key lacks its scope. */
async function listed(
  api: ApiCall,
  path: string,
  fields: readonly string[],
): Promise<ApiRecord[] | null> {
  try {
    const answer = await read(api, path, { limit: projects_max });
    return entriesOf(answer).map((entry) => pick(entry, fields));
  } catch (error) {
    if (error instanceof RefusedError && error.status === 403) return null;
    throw error;
  }
}
