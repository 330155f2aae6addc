import { backfill, changed_table, first_day, postgres_export } from './exports.ts';
import type { Journey } from './journey.ts';
import { domain, keys, members } from './organization.ts';
import { modes } from './modes.ts';
import { outages } from './outages.ts';
import { big_instance, finder, notices, plugin } from './records.ts';

/** The journeys in the order of a person's first weeks; the first one needs a new server. */
export const journeys: Journey[] = [
  first_day,
  postgres_export,
  backfill,
  changed_table,
  modes,
  finder,
  members,
  domain,
  plugin,
  keys,
  notices,
  outages,
  big_instance,
];
