import type { DestinationType } from '../../api/destinations/schema.ts';
import { intervals } from '../../engine/exports/planning/interval.ts';
import { counted } from '../../platform/counted.ts';
import type { Fields } from '../../platform/fields.ts';
import { isFields } from '../../platform/fields.ts';
import { openApi } from '../client/api.ts';
import type { Api } from '../client/api.ts';
import { UserError } from '../user_error.ts';
import { openKeys, secretReference } from './inventory.ts';
import type { FoundOrganization, FoundProject, LeftBehind, MoveSource } from './inventory.ts';
import {
  isSluice,
  posthogCounts,
  posthogEvents,
  sluiceCounts,
  sluiceEvents,
} from './posthog_history.ts';

const list_max = 10_000;

/** Lists of a project without a counterpart here: their names, and what to do instead. */
const without_place: [path: string, what: string, why: string][] = [
  ['dashboards/', 'dashboard', 'Sluice has none. Build them on the exported tables.'],
  ['insights/', 'insight', 'Sluice has none. Build them on the exported tables.'],
  ['cohorts/', 'cohort', 'Sluice has none. Write them as queries of exports.'],
  ['feature_flags/', 'feature flag', 'Sluice serves none. Keep PostHog for them.'],
  ['experiments/', 'experiment', 'Sluice has none. Keep PostHog for them.'],
  ['surveys/', 'survey', 'Sluice has none. Keep PostHog for them.'],
  ['actions/', 'action', 'Sluice has none. Filter events by name or by query.'],
  ['hog_functions/?types=destination', 'real-time destination', 'Set them up as tools.'],
  ['session_recordings/', 'session recording', 'Sluice stores none.'],
];

type Named = { id: string | number; name: string };
type Person = { user: { email: string; first_name?: string }; level: number };
type Invited = { target_email: string; first_name?: string; level: number };
type Export = {
  name: string;
  model?: string | null;
  interval: string;
  paused: boolean;
  timezone?: string | null;
  end_at?: string | null;
  hogql_query?: string | null;
  custom_query?: string | null;
  destination: { type: string; config: Fields | null };
};

/** The checks of this server: its destinations, and the fault of a query. */
export type Target = {
  destinations: readonly DestinationType[];
  queryFault(query: string, model: string): Promise<string | undefined>;
};

/** Opens PostHog, or another Sluice, whose API has the same paths. */
export async function openPosthog(url: string, key: string, target: Target): Promise<MoveSource> {
  const api = openApi({ url, key });
  const is_sluice = await isSluice(api);
  return {
    title: is_sluice ? 'Sluice' : 'PostHog',
    read: async () => {
      const all = await api.list<Named>('/api/organizations/', list_max);
      const found: FoundOrganization[] = [];
      for (const one of all) found.push(await readOrganization(api, one, target));
      return found;
    },
    events: (project, days) => (is_sluice ? sluiceEvents : posthogEvents)(api, project, days),
    counts: (project, days) =>
      is_sluice ? sluiceCounts(api, project.id, days) : posthogCounts(api, project, days),
  };
}

async function readOrganization(
  api: Api,
  { id, name }: Named,
  target: Target,
): Promise<FoundOrganization> {
  const base = `/api/organizations/${id}/`;
  const left: LeftBehind[] = [];
  const projects: Record<string, FoundProject> = {};
  const keyOf = openKeys();
  for (const project of await api.list<Named>(`${base}projects/`, list_max)) {
    const key = keyOf(project.name);
    projects[key] = await readProject(api, project, key, target, left);
  }
  const members = await api.list<Person>(`${base}members/`, list_max);
  const people = members.map(({ user, level }) => ({
    email: user.email,
    first_name: user.first_name ?? '',
    level,
  }));
  for (const invite of await api.list<Invited>(`${base}invites/`, list_max))
    if (!people.some(({ email }) => email === invite.target_email))
      people.push({
        email: invite.target_email,
        first_name: invite.first_name ?? '',
        level: invite.level,
      });
  for (const collection of ['pipeline_destinations', 'pipeline_frontend_apps']) {
    const count = await countOf(api, `${base}${collection}/`);
    if (count > 0)
      left.push({
        what: `${name}: ${counted(count, collection.replaceAll('_', ' ').slice(0, -1))}`,
        why: 'Their code may use features that only PostHog has. Install each and check its logs.',
      });
  }
  return { id: String(id), name, projects, plugins: {}, people, left };
}

async function readProject(
  api: Api,
  { id, name }: Named,
  key: string,
  target: Target,
  left: LeftBehind[],
): Promise<FoundProject> {
  const { timezone } = await api.get<{ timezone?: string }>(`/api/projects/${id}/`);
  const batch_exports: Record<string, Fields> = {};
  const keyOf = openKeys();
  const listed = await api.list<Export>(`/api/projects/${id}/batch_exports/`, list_max);
  for (const one of listed.toReversed()) {
    const what = `${name}: export ${one.name}`;
    const fault = await faultOf(one, target);
    if (fault !== undefined) {
      left.push({ what, why: fault });
      continue;
    }
    const export_key = keyOf(one.name);
    const { fields, dropped } = exportFields(one, key, export_key, target);
    batch_exports[export_key] = fields;
    if (dropped.length > 0)
      left.push({
        what: `${what}, keys ${dropped.join(', ')}`,
        why: 'The destination has no such keys.',
      });
  }
  for (const [path, kind, why] of without_place) {
    const count = await countOf(api, `/api/projects/${id}/${path}`);
    if (count > 0) left.push({ what: `${name}: ${counted(count, kind)}`, why });
  }
  const fields: Fields = { timezone: timezone ?? 'UTC' };
  if (Object.keys(batch_exports).length > 0) fields['batch_exports'] = batch_exports;
  return { id: String(id), name, fields };
}

async function faultOf(one: Export, target: Target): Promise<string | undefined> {
  const { type } = one.destination;
  if (!target.destinations.some((known) => known.type === type))
    return `Sluice has no destination ${type}. Choose another: \`sluice exports create\`.`;
  if (!(intervals as readonly string[]).includes(one.interval))
    return `Sluice has no interval "${one.interval}". It has ${intervals.join(', ')}.`;
  const query = one.custom_query ?? one.hogql_query ?? null;
  const fault = query === null ? undefined : await target.queryFault(query, one.model ?? 'events');
  return fault === undefined ? undefined : `Its query must be rewritten: ${fault}`;
}

/**
 * Returns an export in the form of a configuration: paused, so that not both deliver to one place.
 */
function exportFields(one: Export, project: string, key: string, { destinations }: Target) {
  const { type, config } = one.destination;
  const known = destinations.find((destination) => destination.type === type)!;
  const properties = isFields(known.config['properties']) ? known.config['properties'] : {};
  const required = Array.isArray(known.config['required']) ? known.config['required'] : [];
  const given = Object.entries(config ?? {}).filter(([, value]) => value !== null);
  const isOpen = (name: string) =>
    Object.hasOwn(properties, name) && !known.secret_keys.includes(name);
  // An API never returns secrets, so the destination's secrets must be entered.
  const secrets = known.secret_keys
    .filter((name) => required.includes(name) || known.secret_keys.length <= 2)
    .map((name): [string, unknown] => [name, secretReference(project, key, name)]);
  const query = one.custom_query ?? one.hogql_query ?? null;
  const fields: Fields = {
    name: one.name,
    model: one.model ?? 'events',
    interval: one.interval,
    paused: true,
    ...(query === null ? {} : { custom_query: query }),
    ...((one.timezone ?? null) === null ? {} : { timezone: one.timezone }),
    ...((one.end_at ?? null) === null ? {} : { end_at: one.end_at }),
    destination: {
      type,
      config: Object.fromEntries([...given.filter(([name]) => isOpen(name)), ...secrets]),
    },
  };
  const dropped = given.map(([name]) => name).filter((name) => !Object.hasOwn(properties, name));
  return { fields, dropped };
}

/** Returns the length of a list; 0 if the source does not have the list. */
async function countOf(api: Api, path: string): Promise<number> {
  try {
    const { count, results } = await api.get<{ count?: number; results?: unknown[] }>(path);
    return count ?? results?.length ?? 0;
  } catch (error) {
    if (error instanceof UserError) return 0;
    throw error;
  }
}
