import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { yamlText } from '../../api/configuration/yaml_text.ts';
import type { DestinationType } from '../../api/destinations/schema.ts';
import { systemClock } from '../../platform/clock.ts';
import { counted } from '../../platform/counted.ts';
import { isInstant } from '../../platform/instant.ts';
import { isAgreed } from '../agreed.ts';
import { openApi } from '../client/api.ts';
import type { Api } from '../client/api.ts';
import { say } from '../client/print.ts';
import type { Output } from '../client/print.ts';
import type { TargetFlags } from '../client/target.ts';
import { given } from '../client/target.ts';
import { ConfigurationRefused, openClient } from '../config/client.ts';
import { readFiles } from '../config/files.ts';
import { planLines, summaryLine } from '../config/show.ts';
import { serverAddress } from '../server_address.ts';
import { KeyError, UserError, WrongUsageError } from '../user_error.ts';
import { compareCounts, comparedLines, countFiles } from './compare.ts';
import { bringFiles, bringFromApi, dayOf, rangesOf } from './history.ts';
import { documentOf, openKeys, variablesOf } from './inventory.ts';
import type { DayCount, Days, FoundOrganization, FoundProject, MoveSource } from './inventory.ts';
import { openPosthog } from './posthog.ts';
import { sluiceCounts } from './posthog_history.ts';
import { openRudderstack } from './rudderstack.ts';
import { openSecrets } from './secrets.ts';
import { openSegment } from './segment.ts';

/** The sources of a move. */
export type MoveFrom = 'posthog' | 'segment' | 'rudderstack';

/** The options of `sluice migrate <source>` on the command line. */
export type MoveFlags = TargetFlags & {
  from: string;
  fromKey?: string;
  organization?: string;
  folder: string;
  secretsFile?: string;
  apply?: boolean;
  compare?: boolean;
  history?: string[];
  since?: string;
  until?: string;
  yes?: boolean;
  json?: boolean;
};

type Moving = {
  output: Output;
  name: MoveFrom;
  flags: MoveFlags;
  api: Api;
  source: MoveSource;
  days: Days;
};

/** An organization of the source, with the organization and file for it here. */
type Placed = { found: FoundOrganization; id: string | undefined; file: string };

/**
 * `sluice migrate posthog|segment|rudderstack`: shows a plan of the move. With `--apply`, applies
 * it through the API and imports history; with `--compare`, counts both sides. Exit code 1:
 * something was refused, or differs without a reason.
 */
export async function moveIn(output: Output, name: MoveFrom, flags: MoveFlags): Promise<number> {
  const api = openApi(flags);
  const source = await openSource(name, flags, api);
  const moving: Moving = { output, name, flags, api, source, days: daysOf(flags) };
  const found = await source.read().catch((error: unknown) => {
    // The text of a KeyError is about a key of this server.
    if (!(error instanceof KeyError)) throw error;
    throw new KeyError(
      `${source.title} at ${flags.from} refused the key of --from-key, or the key may not ` +
        'read all of an organization. docs/moving_in.md lists the rights that it needs.',
    );
  });
  mkdirSync(flags.folder, { recursive: true, mode: 0o700 });
  const all = await placeAll(moving, found);
  if (flags.compare === true) return compareAll(moving, all);
  let code = 0;
  for (const one of all) code = Math.max(code, await planOrApply(moving, one));
  return code;
}

async function openSource(name: MoveFrom, flags: MoveFlags, api: Api): Promise<MoveSource> {
  const key = flags.fromKey ?? given('SLUICE_FROM_KEY') ?? '';
  if (name === 'rudderstack') return openRudderstack(flags.from, key);
  if (key === '') throw new WrongUsageError('Enter the key of the source: --from-key.');
  const url = serverAddress(flags.from);
  if (name === 'segment') return openSegment(url, key);
  const { results } = await api.get<{ results: DestinationType[] }>('/api/destinations/');
  return openPosthog(url, key, {
    destinations: results,
    queryFault: async (query, model) => {
      const path = '/api/projects/@current/query/validate/';
      const checked = await api.post<{ is_valid: boolean; errors: { detail: string }[] }>(path, {
        query,
        model,
      });
      return checked.is_valid ? undefined : (checked.errors[0]?.detail ?? 'it is not valid');
    },
  });
}

function daysOf({ since, until }: MoveFlags): Days {
  const tomorrow = dayOf(systemClock.now() + 86_400_000);
  for (const [option, text] of Object.entries({ '--since': since, '--until': until }))
    if (text !== undefined && !isInstant(`${text}T00:00:00Z`))
      throw new WrongUsageError(`${option} needs a day such as 2026-01-31, not "${text}".`);
  const days = { from: since ?? dayOf(systemClock.now() - 30 * 86_400_000), to: until ?? tomorrow };
  if (days.from < days.to) return days;
  throw new WrongUsageError(`--since ${days.from} is not before --until ${days.to}.`);
}

/** Finds the organization here for each of the source: the named one, or one with the same name. */
async function placeAll(
  { api, flags, name }: Moving,
  found: FoundOrganization[],
): Promise<Placed[]> {
  if (flags.organization !== undefined && found.length > 1)
    throw new WrongUsageError('--organization is only valid for a source with one organization.');
  const here = await api.list<{ id: string; name: string }>('/api/organizations/', 10_000);
  const keyOf = openKeys();
  return found.map((one) => {
    const same = here.filter((organization) => organization.name === one.name);
    if (same.length > 1)
      throw new UserError(`Several organizations have the name ${one.name}: use the id of one.`);
    const id = flags.organization ?? same[0]?.id;
    const file = join(flags.folder, `${name}_${keyOf(one.name)}.yaml`);
    return { found: one, id, file };
  });
}

async function planOrApply(moving: Moving, placed: Placed): Promise<number> {
  const { output, flags, api, name } = moving;
  const { found, file } = placed;
  tellFound(moving, placed);
  const document = documentOf(found);
  if (!existsSync(file)) writeFileSync(file, yamlText(document), { mode: 0o600 });
  else say(output, `${file} already exists and is used unchanged. Remove it to write it again.`);
  const applies = flags.apply === true;
  const id = placed.id ?? (applies ? await createOrganization(api, found.name) : undefined);
  if (id === undefined) {
    say(output, `+ organization ${found.name}, with the content of ${file}.`);
    return 0;
  }
  const secrets = await openSecrets(variablesOf(document), flags.secretsFile, applies);
  const read = await readFiles([file], secrets);
  if (read.faults.length > 0) throw new ConfigurationRefused(read.faults);
  const client = openClient({ ...api.target, organization: id });
  const asked = {
    configuration: read.value,
    source: { name: `move from ${name}` },
    people: true,
  };
  const planned = await client.plan(asked, read.places);
  for (const line of planLines(planned)) say(output, line);
  if (!applies) return 0;
  if (planned.needs.length > 0)
    throw new UserError('Set the missing values first: as variables, or with --secrets-file.');
  const question = `Apply this to ${found.name}: ${summaryLine(planned)}`;
  if (!planned.is_empty && flags.yes !== true && !(await isAgreed(question, 'applies the plan')))
    return 1;
  if (!planned.is_empty) await client.apply(planned.hash, read.places);
  return bringHistory(moving, { ...placed, id });
}

async function createOrganization(api: Api, name: string): Promise<string> {
  return (await api.post<{ id: string }>('/api/organizations/', { name })).id;
}

function tellFound({ output, source }: Moving, { found }: Placed): void {
  const { projects, people, plugins, left } = found;
  const inside = (section: string) =>
    Object.values(projects).reduce(
      (sum, { fields }) => sum + Object.keys((fields[section] as object | undefined) ?? {}).length,
      0,
    );
  say(
    output,
    `${source.title}, ${found.name}: ${counted(Object.keys(projects).length, 'project')}, ` +
      `${counted(people.length, 'person')} to invite, ` +
      `${counted(inside('batch_exports'), 'export')} (paused), ` +
      `${counted(Object.keys(plugins).length, 'tool')} with ` +
      `${counted(inside('plugin_configs'), 'setting')} (off).`,
  );
  for (const { what, why } of left) say(output, `- ${what}: not moved. ${why}`);
}

/** Returns the ids of the projects here that the move's configuration manages, by key. */
async function projectIds({ api, name }: Moving, id: string): Promise<Map<string, string>> {
  const path = `/api/organizations/${id}/configuration/objects/`;
  const { objects } = await api.get<{
    objects: { kind: string; path: string; id: string }[];
  }>(path);
  const own = objects.filter(({ kind }) => kind === 'project');
  if (own.length === 0)
    throw new UserError(`Nothing was applied from ${name} yet: run with --apply first.`);
  return new Map(own.map((one) => [one.path.split('.')[1]!, one.id]));
}

type Brought = { key: string; project: FoundProject; id: string; place: string };

/** Returns the projects that get history: `KEY=PLACE`, or one place for the only project. */
async function broughtOf(moving: Moving, placed: Placed): Promise<Brought[]> {
  const { history = [] } = moving.flags;
  const projects = Object.entries(placed.found.projects);
  const ids = await projectIds(moving, placed.id!);
  const wanted = history.flatMap((text): [string, string][] => {
    const at = text.indexOf('=');
    const key = text.slice(0, Math.max(at, 0));
    if (at > 0 && projects.some(([one]) => one === key)) return [[key, text.slice(at + 1)]];
    if (text !== 'api' && projects.length !== 1) return [];
    return projects.map(([one]) => [one, text]);
  });
  return wanted.flatMap(([key, place]) => {
    const id = ids.get(key);
    return id === undefined ? [] : [{ key, project: placed.found.projects[key]!, id, place }];
  });
}

async function bringHistory(moving: Moving, placed: Placed): Promise<number> {
  const { output, name, flags, api, source, days } = moving;
  if ((flags.history ?? []).length === 0) return 0;
  let code = 0;
  for (const { key, project, id, place } of await broughtOf(moving, placed)) {
    const target = {
      server: api.target,
      project: id,
      key,
      folder: flags.folder,
      options: { format: name, timezone: 'UTC' },
      tell: (line: string) => say(output, `${key}: ${line}`),
    };
    const failed =
      place === 'api'
        ? await bringFromApi(target, source, project, days)
        : await bringFiles(target, place);
    code = Math.max(code, failed);
  }
  return code;
}

async function compareAll(moving: Moving, all: Placed[]): Promise<number> {
  const { output, flags, api, days, name, source } = moving;
  let code = 0;
  for (const placed of all) {
    if (placed.id === undefined)
      throw new UserError(`${placed.found.name} does not exist here yet.`);
    const history = flags.history ?? ['api'];
    const brought = await broughtOf({ ...moving, flags: { ...flags, history } }, placed);
    for (const { key, project, id, place } of brought) {
      const there =
        place === 'api'
          ? await inRanges(days, (range) => countsOf(source, project, range))
          : await countFiles(place, name, days, flags.folder);
      const here = await inRanges(days, (range) => sluiceCounts(api, id, range));
      const compared = compareCounts(there, here, dayOf(systemClock.now()));
      if (flags.json === true) say(output, JSON.stringify({ project: key, counts: compared }));
      else for (const line of comparedLines(compared)) say(output, `${key}: ${line}`);
      if (compared.some(({ is_explained }) => !is_explained)) code = 1;
    }
  }
  return code;
}

function countsOf(source: MoveSource, project: FoundProject, range: Days): Promise<DayCount[]> {
  if (source.counts !== undefined) return source.counts(project, range);
  throw new UserError(`The API of ${source.title} cannot count events. Name its files: --history.`);
}

async function inRanges(
  days: Days,
  count: (range: Days) => Promise<DayCount[]>,
): Promise<DayCount[]> {
  const counts: DayCount[] = [];
  for (const range of rangesOf(days, 31)) counts.push(...(await count(range)));
  return counts;
}
