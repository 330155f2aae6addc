import type { BatchExport } from '../../api/batch_exports/schema.ts';
import type { DestinationType } from '../../api/destinations/schema.ts';
import { openApi } from '../client/api.ts';
import { printJson, say } from '../client/print.ts';
import type { Output } from '../client/print.ts';
import { readContent, readInstant } from '../client/read_options.ts';
import type { ReadFlags } from '../client/read_options.ts';
import { UserError, WrongUsageError } from '../user_error.ts';
import { readDestinationConfig } from './destination_config.ts';
import { projectPath } from './find_export.ts';

type CreateFlags = ReadFlags & {
  to: string;
  every: string;
  at?: string;
  on?: string;
  timezone?: string;
  config?: string[];
  model?: string;
  query?: string;
  mode?: string;
  primaryKey?: string[];
  versionKey?: string[];
  allowEmpty?: boolean;
  startAt?: string;
  endAt?: string;
  tag?: string[];
  paused?: boolean;
  test?: boolean;
};

type Tested = { steps: { name: string; status: string; detail: string }[] };

/** The days of the week, numbered like `offset_day`. */
export const weekdays = [
  'sunday',
  'monday',
  'tuesday',
  'wednesday',
  'thursday',
  'friday',
  'saturday',
];
/** The API's intervals by the words that people type. */
const typed_intervals: Record<string, BatchExport['interval']> = {
  '1m': 'every minute',
  '5m': 'every 5 minutes',
  '15m': 'every 15 minutes',
  hour: 'hour',
  day: 'day',
  week: 'week',
  '1h': 'hour',
  '1d': 'day',
  '1w': 'week',
};

/**
 * `sluice exports create`: creates an export; with `--test`, only after a test of its destination.
 * A program gets only the id.
 */
export async function createExport(
  output: Output,
  name: string,
  flags: CreateFlags,
): Promise<number> {
  const api = openApi(flags);
  const { results } = await api.get<{ results: DestinationType[] }>('/api/destinations/');
  const wanted = flags.to.toLowerCase();
  const definition = results.find(({ type }) => type.toLowerCase() === wanted);
  if (definition === undefined)
    throw new WrongUsageError(
      `--to takes one of ${results.map(({ type }) => type).join(', ')}, not "${flags.to}".`,
    );
  const interval = readInterval(flags.every);
  if (flags.on !== undefined && interval !== 'week')
    throw new WrongUsageError('--on needs --every week.');
  if (flags.at !== undefined && interval !== 'week' && interval !== 'day')
    throw new WrongUsageError('--at needs --every day or --every week.');
  const body = {
    name,
    interval,
    ...(flags.timezone === undefined ? {} : { timezone: flags.timezone }),
    ...(flags.on === undefined ? {} : { offset_day: readWeekday(flags.on) }),
    ...(flags.at === undefined ? {} : readTime(flags.at)),
    destination: {
      type: definition.type,
      config: readDestinationConfig(flags.config ?? [], definition),
    },
    ...(flags.model === undefined ? {} : { model: flags.model }),
    ...(flags.query === undefined ? {} : { custom_query: queryOf(flags.query) }),
    ...(flags.mode === undefined ? {} : { mode: flags.mode }),
    ...(flags.primaryKey === undefined ? {} : { primary_key: flags.primaryKey }),
    ...(flags.versionKey === undefined ? {} : { version_key: flags.versionKey }),
    ...(flags.allowEmpty === true ? { allow_empty: true } : {}),
    ...(flags.startAt === undefined ? {} : { start_at: readInstant('--start-at', flags.startAt) }),
    ...(flags.endAt === undefined ? {} : { end_at: readInstant('--end-at', flags.endAt) }),
    ...(flags.tag === undefined ? {} : { tags: flags.tag }),
    ...(flags.paused === true ? { paused: true } : {}),
  };
  const path = projectPath(api, 'batch_exports/');
  if (flags.test === true) {
    const { steps } = await api.post<Tested>(`${path}test/`, body);
    const failed = steps.find(({ status }) => status === 'failed');
    if (failed !== undefined)
      throw new UserError(
        `The destination failed its test, and nothing was created: ${failed.detail}`,
      );
  }
  const created = await api.post<BatchExport>(path, body);
  if (flags.json === true) printJson(output, created);
  else if (!output.is_terminal) say(output, created.id);
  else say(output, `Created ${created.name} (${created.id}).`);
  if (body.start_at !== undefined) process.stderr.write(olderText(created, body.start_at));
  return 0;
}

function readInterval(text: string): BatchExport['interval'] {
  const interval = Object.entries(typed_intervals).find((pair) => pair.includes(text))?.[1];
  if (interval !== undefined) return interval;
  throw new WrongUsageError(`--every takes 1m, 5m, 15m, hour, day or week, not "${text}".`);
}

/**
 * Says that the schedule delivers no older rows for a start in the past. Empty for a later start,
 * and for an export that replaces its table, whose first run delivers everything.
 */
export function olderText(
  { id, created_at, next_run, mode }: Pick<BatchExport, 'id' | 'created_at' | 'next_run' | 'mode'>,
  start_at: string,
): string {
  const first = next_run?.data_interval_start ?? created_at;
  if (mode === 'replace' || Date.parse(start_at) >= Date.parse(first)) return '';
  return (
    `The start is in the past: the schedule delivers rows that are ingested after ${first}. ` +
    `For older rows, start a backfill: sluice exports backfill ${id} --from ${start_at} --to ` +
    'now\n'
  );
}

function readWeekday(text: string): number {
  const wanted = text.toLowerCase();
  const day = weekdays.findIndex((name) => wanted.length >= 3 && name.startsWith(wanted));
  if (day === -1)
    throw new WrongUsageError(`--on takes a day of the week, such as sunday, not "${text}".`);
  return day;
}

function readTime(text: string): { offset_hour: number; offset_minute: number } {
  const [, hour, minute] = /^([01]?\d|2[0-3]):([0-5]\d)$/.exec(text) ?? [];
  if (hour === undefined)
    throw new WrongUsageError(`--at takes a time, such as 06:00, not "${text}".`);
  return { offset_hour: Number(hour), offset_minute: Number(minute) };
}

function queryOf(text: string): string {
  return text.startsWith('@') ? readContent('--query', text.slice(1)) : text;
}
