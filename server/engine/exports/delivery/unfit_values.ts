import sql from 'sql-template-tag';
import { counted } from '../../../platform/counted.ts';
import { rest_column, unfitProperties } from '../../model/schema/typed_relation.ts';
import { ask } from '../source/source.ts';
import { readingOf, say } from './attempt.ts';
import type { Attempt } from './attempt.ts';
import { tellMisfits } from './schema_drift.ts';

const named_max = 5;

/** The values of a property that fit no column. */
type Unfit = { property: string; unfit: string | number };

/**
 * Counts the values of a run that fit no column of their property. The rest column keeps them. The
 * run, its log and the metrics show their number. Does nothing without typed columns.
 */
export async function countUnfit(attempt: Attempt, signal: AbortSignal): Promise<Unfit[]> {
  const { typed_columns, selection } = attempt.run;
  if (typed_columns === null || typed_columns.length === 0 || selection.length === 0) return [];
  const reading = await readingOf(attempt);
  return ask<Unfit>(attempt.engine, reading, {
    query: `SELECT arrayJoin(${unfitProperties(typed_columns)}) AS property, count() AS unfit
      FROM ${reading.text} GROUP BY property ORDER BY unfit DESC, property`,
    // Runs at a lower priority than the rows, like a digest.
    settings: { priority: 100 },
    signal,
  });
}

/** Stores and reports the counts. */
export async function sayUnfit(attempt: Attempt, unfit: Unfit[]): Promise<void> {
  const { engine, run, definition } = attempt;
  if (run.schema_number === null) return;
  const total = unfit.reduce((sum, one) => sum + Number(one.unfit), 0);
  await engine.db.run(sql`UPDATE batch_export_runs SET values_unfit = ${total}
    WHERE id = ${run.id} AND attempt = ${run.attempt}`);
  if (total === 0) return;
  engine.metrics.values_unfit.inc({ destination: definition.type }, total);
  const names = unfit.slice(0, named_max).map(({ property, unfit: values }) => {
    const name = property === '' ? 'whole rows' : JSON.stringify(property.slice(0, 80));
    return `${name} ${values}`;
  });
  const others = unfit.length > named_max ? ` and ${unfit.length - named_max} more` : '';
  const sentence =
    `${counted(total, 'value')} did not fit the type of the column and stayed whole in ` +
    `${rest_column}: ${names.join(', ')}${others}. To give them a column, add their property ` +
    'to the schema with a wider type.';
  await say(attempt, 'WARNING', sentence);
  const most = unfit.slice(0, named_max);
  await tellMisfits(
    attempt,
    sentence,
    most.map((one) => ({ property: one.property, values_unfit: Number(one.unfit) })),
  );
}

/** Logs the columns that the delivery fills for the first time. */
export async function sayNewColumns(attempt: Attempt): Promise<void> {
  const { run, delivery } = attempt;
  if (run.known_columns === null) return;
  const added = delivery.columns.filter(({ typed }) => typed === 'new');
  if (added.length === 0) return;
  const names = added.map(({ name, type }) => `${name} (${type})`).join(', ');
  await say(
    attempt,
    'INFO',
    `Schema ${run.schema_number} brings ${counted(added.length, 'new column')}: ${names}. ` +
      `Earlier rows have these values in ${rest_column}.`,
  );
}
