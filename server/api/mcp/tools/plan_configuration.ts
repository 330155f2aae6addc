import { Type } from 'typebox';
import { flag } from '../../../platform/http/schemas.ts';
import type { ApiCall, ApiRecord } from '../api_call.ts';
import { ask, entriesOf, pick, read } from '../api_call.ts';
import { untrusted } from '../marked_data.ts';
import type { UntrustedText } from '../marked_data.ts';
import { defineTool, organization, organizationPath } from '../tool.ts';
import { secretPages } from './secret_pages.ts';
import { outlineOf, partOf } from './standing_part.ts';

/** The source name of agents' objects, unless they send another one. */
const agent_source = 'agent';
const standing_characters_max = 30_000;
const value_characters_max = 500;
const plan_fields = ['hash', 'expires_at', 'is_empty', 'source', 'summary'] as const;
const object_fields = ['kind', 'path', 'id', 'name', 'action', 'moved_from', 'cost'] as const;

/** Shows the current configuration, or the effect of a changed one; changes nothing. */
export const plan_configuration = defineTool({
  name: 'plan_configuration',
  title: 'Plan a configuration',
  description:
    'Without `configuration`: the current state, as the JSON to send. With it: the plan ' +
    '(steps by field, costs, drift, needs) and its hash. It changes nothing. Objects that it ' +
    'does not name are kept. It ignores people (members, invites). For every secret write ' +
    '{"keep": true}, never a value. If a secret is not stored yet, needs has the link `open` ' +
    'where a person enters it.',
  input: Type.Object({
    organization,
    configuration: Type.Optional(
      Type.Unsafe<ApiRecord>({
        type: 'object',
        description: 'Objects by section and key, as in the current state.',
      }),
    ),
    path: Type.Optional(
      Type.String({
        maxLength: 500,
        description: 'Without `configuration`: only this part, such as projects.web.',
      }),
    ),
    source: Type.Optional(
      Type.String({
        maxLength: 200,
        description: 'Name of the configuration that manages it; default agent.',
      }),
    ),
    prune: Type.Optional(flag('Delete what this source applied and no longer names.')),
  }),
  scopes: ['organization:read'],
  within: 'organization',
  run: async (args, { api, console_url }) => {
    const path = `${organizationPath(args.organization)}configuration/`;
    if (args.configuration === undefined) return standing(api, path, args.path);
    const plan = await ask(api, {
      method: 'POST',
      path: `${path}plan/`,
      body: {
        configuration: args.configuration,
        source: { name: args.source ?? agent_source },
        prune: args.prune ?? false,
      },
    });
    const needs = entriesOf(plan, 'needs');
    const pages = await secretPages(api, console_url, args.organization, plan);
    return {
      ...pick(plan, plan_fields),
      needs: needs.map((need) => ({ ...need, open: pages.get(need) })),
      steps: entriesOf(plan, 'steps').map(shownStep),
      drift: entriesOf(plan, 'drift').map(shownStep),
      left: entriesOf(plan, 'left').map((one) => pick(one, object_fields)),
      notes: plan['notes'],
      // Renamed, because `left_out` of a shortened answer counts its missing entries.
      sections_left_out: plan['left_out'],
    };
  },
});

/** Reads the current state, or one part. Lists the paths of the parts if it is too long. */
async function standing(api: ApiCall, url: string, path = ''): Promise<ApiRecord> {
  const { configuration } = await read(api, url);
  const whole = kept(configuration) as ApiRecord;
  const part = path === '' ? whole : partOf(whole, path);
  if (part === undefined) return { detail: 'Nothing stands there.', paths: outlineOf(whole) };
  return JSON.stringify(part).length > standing_characters_max
    ? { detail: 'Too long: ask for one of these paths.', paths: outlineOf(part) }
    : { configuration: untrusted(part, standing_characters_max) };
}

/** Replaces each variable by `keep`, because an agent does not have its value. */
function kept(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(kept);
  const entries = Object.entries(value);
  const isReference = entries.length === 1 && entries[0]![0] === 'env';
  if (isReference) return { keep: true };
  return Object.fromEntries(entries.map(([name, inner]) => [name, kept(inner)]));
}

function shownStep(step: ApiRecord): ApiRecord {
  return {
    ...pick(step, object_fields),
    ...pick(step, ['is_deleted']),
    changed_by: step['by'],
    changes: entriesOf(step, 'changes').map(({ field, action, before, after }) => ({
      field,
      action,
      before: shownValue(before),
      after: shownValue(after),
    })),
  };
}

function shownValue(value: unknown): number | boolean | UntrustedText | null {
  return typeof value === 'number' || typeof value === 'boolean'
    ? value
    : untrusted(value, value_characters_max);
}
