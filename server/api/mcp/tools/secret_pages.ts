import type { ApiCall, ApiRecord } from '../api_call.ts';
import { RefusedError, entriesOf, read } from '../api_call.ts';
import { organizationPath } from '../tool.ts';

/**
 * The page of the console where a person enters what a plan needs, for each of its secrets. An
 * agent gives the link to them and never sees what they enter.
 */
export async function secretPages(
  api: ApiCall,
  console_url: string,
  organization_id: string | undefined,
  plan: ApiRecord,
): Promise<ReadonlyMap<ApiRecord, string>> {
  const pages = new Map<ApiRecord, string>();
  for (const need of entriesOf(plan, 'needs'))
    if (need['code'] === 'secret')
      pages.set(need, console_url + (await pageOf(api, organization_id, plan, need)));
  return pages;
}

async function pageOf(
  api: ApiCall,
  organization_id: string | undefined,
  plan: ApiRecord,
  need: ApiRecord,
): Promise<string> {
  const path = String(need['path']);
  const within = entriesOf(plan, 'steps').filter((step) =>
    `${path}.`.startsWith(`${String(step['path'])}.`),
  );
  const own = within.find((step) => step['kind'] === need['kind'])?.['id'] ?? null;
  if (need['kind'] === 'batch_export' && own !== null) {
    const team_id = await projectOf(api, organization_id, String(own));
    if (team_id !== undefined) return `/projects/${team_id}/exports/${String(own)}/edit`;
  }
  const project =
    within.find((step) => step['kind'] === 'project')?.['id'] ??
    (await onlyProject(api, organization_id));
  if (project === undefined) return '/';
  return need['kind'] === 'batch_export'
    ? `/projects/${String(project)}/exports/new`
    : `/projects/${String(project)}/${need['kind'] === 'notice_target' ? 'notices' : 'settings'}`;
}

/** The project of an organization that has one; undefined when it has several. */
async function onlyProject(api: ApiCall, organization_id: string | undefined): Promise<unknown> {
  const { teams } = await read(api, organizationPath(organization_id));
  const projects = teams as ApiRecord[];
  return projects.length === 1 ? projects[0]!['id'] : undefined;
}

/** The project of the export; undefined when the key may not see it. */
async function projectOf(
  api: ApiCall,
  organization_id: string | undefined,
  id: string,
): Promise<number | undefined> {
  try {
    const found = await read(api, `${organizationPath(organization_id)}batch_exports/${id}/`);
    return found['team_id'] as number;
  } catch (error) {
    if (error instanceof RefusedError) return undefined;
    throw error;
  }
}
