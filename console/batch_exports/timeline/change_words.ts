import type { DestinationType } from '../../../server/api/destinations/schema.ts';
import type { TimelineEntry } from '../../../server/api/batch_exports/timeline/schema.ts';
import { keysOf } from '../../destinations/config.ts';

type Change = NonNullable<TimelineEntry['change']>['changes'][number];

/** A change in words; a secret shows no values. */
export type ToldChange = { field: string; label: string; before: string; after: string };

/** Replaces a secret in the activity log. */
const mask = '********';

/** Labels of an export's own fields, as in its form. */
const labels: Record<string, string> = {
  allow_empty: 'Allow an empty result',
  columns: 'Properties',
  connection_id: 'Connection',
  custom_query: 'Query',
  'destination.type': 'Destination',
  end_at: 'End',
  freshness_seconds: 'Late after (seconds)',
  interval: 'Interval',
  last_paused_at: 'Last paused',
  mode: 'Rows in the table',
  model: 'Model',
  name: 'Name',
  new_columns: 'New properties',
  offset_day: 'Day of the week',
  offset_hour: 'Hour',
  offset_minute: 'Minute',
  paused: 'Paused',
  primary_key: 'Key',
  rejected_percent_max: 'Maximum refused rows (percent of a run)',
  rejected_rows: 'If the destination refuses a row',
  rejected_rows_max: 'Maximum refused rows',
  schema_number: 'Accepted schema',
  start_at: 'Start',
  tags: 'Tags',
  timezone: 'Time zone',
  version_key: 'Version',
};

const config_prefix = 'destination.config.';

/** Returns the label of a field in the log; words for an unknown one. */
function labelOf(field: string, type: DestinationType | undefined): string {
  const key = field.startsWith(config_prefix) ? field.slice(config_prefix.length) : undefined;
  const schemas = Object.fromEntries(type === undefined ? [] : keysOf(type));
  const words = (key ?? field).replaceAll(/[._]/g, ' ');
  return (
    (key === undefined ? labels[field] : schemas[key]?.title) ??
    words.charAt(0).toUpperCase() + words.slice(1)
  );
}

/** Returns a value of a change as text: other types than text as JSON; empty for null. */
function valueText(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'boolean') return value ? 'on' : 'off';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

const became = { created: 'set', changed: 'changed', deleted: 'removed' } as const;

/**
 * Describes changes of an export with the labels of its form. A secret shows that it was set,
 * changed or removed; fields that look unchanged are left out.
 */
export function changesInWords(
  changes: readonly Change[],
  type: DestinationType | undefined,
): ToldChange[] {
  return changes.flatMap(({ field, action, before, after }) => {
    const label = labelOf(field, type);
    if (before === mask || after === mask)
      return [{ field, label: `${label} ${became[action]}`, before: '', after: '' }];
    const [old, now] = [valueText(before), valueText(after)];
    return old === now ? [] : [{ field, label, before: old, after: now || 'nothing' }];
  });
}
