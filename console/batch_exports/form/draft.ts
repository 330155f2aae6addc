import type { BatchExport } from '../../../server/api/batch_exports/schema.ts';
import type { DestinationType } from '../../../server/api/destinations/schema.ts';
import { configToSend } from '../../destinations/config.ts';
import type { Config, Typed } from '../../destinations/config.ts';
import { fieldOf, typedAt } from '../../time/zone.ts';
import { timeText } from '../schedule_words.ts';
import type { Body } from '../../http/path.ts';
import { numberOf } from '../../form/values.ts';
import { namesIn } from './write_mode.ts';
import type { TypedMode } from './write_mode.ts';

/** The models, with their names for people. */
export const model_choices: { value: BatchExport['model']; label: string }[] = [
  { value: 'events', label: 'Events' },
  { value: 'persons', label: 'Persons' },
  { value: 'person_distinct_ids', label: 'Distinct ids of persons' },
  { value: 'sessions', label: 'Sessions' },
  { value: 'groups', label: 'Groups' },
];

/** The fields of an export in a form, as texts. */
export type Draft = {
  name: string;
  /** Separated by commas. */
  tags: string;
  model: BatchExport['model'];
  interval: BatchExport['interval'];
  /** The time zone of days and weeks, and their time there; an empty zone is the project's. */
  timezone: string;
  offset_day: string;
  offset_time: string;
  /** Instants such as `2026-11-28 22:00`, in the project's time zone. */
  start_at: string;
  end_at: string;
  freshness_seconds: string;
  rejected_rows: BatchExport['rejected_rows'];
  rejected_rows_max: string;
  rejected_percent_max: string;
  mode: TypedMode;
  /** Names of columns, separated by commas. */
  primary_key: string;
  version_key: string;
  allow_empty: boolean;
  is_query: boolean;
  /** `typed`: properties are separate columns; otherwise one column of JSON. */
  columns: '' | 'typed';
  new_columns: BatchExport['new_columns'];
  /** The accepted schema, for an export that waits for approval of columns. */
  schema_number: string;
  custom_query: string;
  type: string;
  /** The connection with the other keys of the config; empty without one. */
  connection_id: string;
  typed: Typed;
};
/** The fields that a form shows. */
export const shown_keys = [
  'name',
  'tags',
  'model',
  'interval',
  'timezone',
  'offset_day',
  'offset_hour',
  'offset_minute',
  'start_at',
  'end_at',
  'freshness_seconds',
  'rejected_rows',
  'rejected_rows_max',
  'rejected_percent_max',
  'custom_query',
  'columns',
  'new_columns',
  'schema_number',
  'mode',
  'primary_key',
  'version_key',
  'allow_empty',
  'destination',
  'connection_id',
] as const;
/** The changed export, as of opening the form. */
export type Base = Pick<BatchExport, (typeof shown_keys)[number]>;

/** The choices for a row that the destination refuses, with their labels. */
export const rejected_choices: Record<BatchExport['rejected_rows'], string> = {
  stop: 'Stop the run',
  set_aside: 'Set the row aside and deliver the others',
};

/** The choices for properties that the schema gets later, with their labels. */
export const new_columns_choices: Record<BatchExport['new_columns'], string> = {
  add: 'Add their columns',
  wait: 'Wait until somebody accepts them',
};

/** Returns true if the properties of this model can be columns. */
export function isTypable({ model, is_query }: Pick<Draft, 'model' | 'is_query'>): boolean {
  return !is_query && ['events', 'persons', 'groups'].includes(model);
}

/** An answer also has the keys of the model, which nobody has chosen. */
function keysIn(base: Base | undefined, key: 'primary_key' | 'version_key'): string {
  return base?.mode === 'merge' ? (base[key] ?? []).join(', ') : '';
}

/** Returns the fields of a form before anything is typed. */
export function draftOf(base: Base | undefined, zone: string): Draft {
  const atField = (instant: string | null) =>
    instant === null ? '' : fieldOf(Date.parse(instant), zone);
  return {
    name: base?.name ?? '',
    tags: (base?.tags ?? []).join(', '),
    model: base?.model ?? 'events',
    interval: base?.interval ?? 'hour',
    timezone: base?.timezone ?? '',
    offset_day: (base?.offset_day ?? 1).toString(),
    offset_time: timeText(base?.offset_hour ?? 0, base?.offset_minute ?? 0),
    start_at: atField(base?.start_at ?? null),
    end_at: atField(base?.end_at ?? null),
    freshness_seconds: base?.freshness_seconds?.toString() ?? '',
    rejected_rows: base?.rejected_rows ?? 'stop',
    rejected_rows_max: (base?.rejected_rows_max ?? 1_000).toString(),
    rejected_percent_max: (base?.rejected_percent_max ?? 10).toString(),
    mode: base?.mode ?? '',
    primary_key: keysIn(base, 'primary_key'),
    version_key: keysIn(base, 'version_key'),
    allow_empty: base?.allow_empty ?? false,
    is_query: base !== undefined && base.custom_query !== null,
    columns: base?.columns ?? '',
    new_columns: base?.new_columns ?? 'add',
    schema_number: base?.schema_number?.toString() ?? '',
    custom_query: base?.custom_query ?? '',
    type: base?.destination.type ?? '',
    connection_id: base?.connection_id ?? '',
    typed: {},
  };
}

/** Returns the stored config of the form; none if another type was chosen. */
export function storedConfig({ type }: Draft, base: Base | undefined): Config | undefined {
  return base?.destination.type === type ? ((base.destination.config ?? {}) as Config) : undefined;
}

/** A new export in the API's form. */
export type NewExport = Body<'POST', '/api/projects/:project_id/batch_exports/'>;
type Said = Omit<NewExport, 'destination'>;

const time_form = /^(\d?\d):(\d\d)$/;

/** Returns the body to send: all fields of a new export, the differences of a stored one. */
export function bodyOf(
  draft: Draft,
  base: Base | undefined,
  type: DestinationType | undefined,
  zone: string,
): NewExport {
  const stored = storedConfig(draft, base);
  const config = type === undefined ? {} : configToSend(type, draft.typed, stored);
  // The API checks whether the config fits the type.
  const destination = { type: draft.type, config } as NewExport['destination'];
  const said = saidOf(draft, zone);
  if (base === undefined) return { ...said, destination };
  const before = saidOf(draftOf(base, zone), zone);
  const changed = Object.entries(said).filter(
    ([name, value]) => JSON.stringify(before[name as keyof Said]) !== JSON.stringify(value),
  );
  const is_sent = stored === undefined || Object.keys(config).length > 0;
  // The API accepts any part of a stored destination.
  return { ...Object.fromEntries(changed), ...(is_sent ? { destination } : {}) } as NewExport;
}

function saidOf(draft: Draft, zone: string): Said {
  const { name, model, interval, is_query, custom_query, connection_id, mode } = draft;
  const names = (text: string) => (mode === 'merge' ? namesIn(text) : null);
  const rule = {
    mode: mode === '' ? null : mode,
    primary_key: names(draft.primary_key),
    version_key: names(draft.version_key),
    ...(mode === 'replace' ? { allow_empty: draft.allow_empty } : {}),
  };
  return {
    name,
    tags: tagsIn(draft.tags),
    model,
    interval,
    timezone: draft.timezone.trim() === '' ? null : draft.timezone.trim(),
    ...offsetOf(draft),
    start_at: instantOf(draft.start_at, zone),
    end_at: instantOf(draft.end_at, zone),
    freshness_seconds:
      draft.freshness_seconds.trim() === '' ? null : numberOf(draft.freshness_seconds),
    rejected_rows: draft.rejected_rows,
    rejected_rows_max: numberOf(draft.rejected_rows_max),
    rejected_percent_max: numberOf(draft.rejected_percent_max),
    custom_query: is_query ? custom_query : null,
    ...columnsOf(draft),
    ...rule,
    connection_id: connection_id === '' ? null : connection_id,
  };
}

/** Returns the tags of a field, each once. */
function tagsIn(text: string): string[] {
  const tags = text.split(',').map((tag) => tag.trim());
  return [...new Set(tags)].filter((tag) => tag !== '');
}

/** Returns the columns of properties; leaves them out for a model or query without any. */
function columnsOf(draft: Draft): Pick<Said, 'columns' | 'new_columns' | 'schema_number'> {
  const { columns, new_columns, schema_number } = draft;
  if (columns === '' || !isTypable(draft)) return { columns: null, new_columns: 'add' };
  const isAccepted = new_columns === 'wait' && schema_number.trim() !== '';
  const accepted = isAccepted ? { schema_number: numberOf(schema_number) } : {};
  return { columns, new_columns, ...accepted };
}

/** Returns the start of days and weeks; an invalid one is sent as typed, and the API reports it. */
export function offsetOf({ interval, offset_day, offset_time }: Draft) {
  const has_time = interval === 'day' || interval === 'week';
  const [, hour, minute] = time_form.exec(offset_time.trim()) ?? [];
  return {
    offset_day: interval === 'week' ? Number(offset_day) : null,
    offset_hour: has_time ? numberOf(hour ?? offset_time) : null,
    offset_minute: has_time ? Number(minute ?? 0) : null,
  };
}

/** Returns an instant; an invalid text is sent as typed, and the API reports it. */
function instantOf(field: string, zone: string): string | null {
  const at = typedAt(field, zone);
  return at === undefined ? field || null : new Date(at).toISOString();
}
