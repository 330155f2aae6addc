import type { ApiCall, ApiRecord } from '../api_call.ts';
import { RefusedError, entriesOf, read } from '../api_call.ts';
import { organizationPath } from '../tool.ts';

/**
 * Returns, for each secret that a plan needs, the page of the console where a person enters it. An
 * agent gives people this link and never sees the secrets.
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

/** The fields of a plan's step that are read here. */
type Step = { kind: string; path: string; id: string | null };

async function pageOf(
  api: ApiCall,
  organization_id: string | undefined,
  plan: ApiRecord,
  need: ApiRecord,
): Promise<string> {
  const { kind, path } = need as Omit<Step, 'id'>;
  const within = (entriesOf(plan, 'steps') as Step[]).filter((step) =>
    `${path}.`.startsWith(`${step.path}.`),
  );
  const idOf = (wanted: string) => within.find((step) => step.kind === wanted)?.id ?? undefined;
  const own = idOf(kind);
  if (kind === 'connection') {
    const { id } = await read(api, organizationPath(organization_id));
    return `/organizations/${String(id)}/connections${own === undefined ? '' : `/${own}`}`;
  }
  if (kind === 'batch_export' && own !== undefined) {
    const team_id = await projectOf(api, organization_id, own);
    if (team_id !== undefined) return `/projects/${team_id}/exports/${own}/settings`;
  }
  const project = idOf('project') ?? (await onlyProject(api, organization_id));
  if (project === undefined) return '/';
  if (kind === 'batch_export') return `/projects/${project}/exports/new`;
  return `/projects/${project}/${kind === 'notice_target' ? 'notices' : 'settings'}`;
}

/** Returns the project of an organization with only one; undefined if it has several. */
async function onlyProject(
  api: ApiCall,
  organization_id: string | undefined,
): Promise<number | undefined> {
  const { teams } = await read(api, organizationPath(organization_id));
  const [first, ...more] = teams as { id: number }[];
  return more.length === 0 ? first?.id : undefined;
}

/** Returns the project of the export; undefined if the key may not read it. */
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
