import { counted } from '../../../platform/counted.ts';
import type { LookedAtExport } from './missing_deliveries.ts';
import type { finding_kinds } from './verification.ts';

/** Differences of one kind in one delivery, with its data interval. */
export type ShownDeviation = {
  kind: (typeof finding_kinds)[number];
  differences: number;
  start: string | null;
  end: string | null;
};

type Place = Pick<LookedAtExport, 'destination_type' | 'destination_config' | 'timezone'>;

/** Findings that one notice lists one by one. */
const told_max = 3;

/** Describes a difference, as `2 rows of 14 November 2026 are missing from events: ...`. */
export function deviationSentence(
  place: Place,
  { kind, differences, start, end }: ShownDeviation,
): string {
  const { thing, name } = placeOf(place);
  const of_day = start === null || end === null ? '' : ` of ${daysOf(start, end, place.timezone)}`;
  const are = differences === 1 ? 'is' : 'are';
  const have = differences === 1 ? 'has' : 'have';
  const them = differences === 1 ? 'it' : 'them';
  const what = `${counted(differences, thing)}${of_day}`;
  const by = (acted: string) => `somebody else ${acted} ${them} at the destination.`;
  switch (kind) {
    case 'missing':
      return `${what} ${are} missing from ${name}: ${by('deleted')}`;
    case 'changed':
      return `${what} in ${name} ${have} other contents than Sluice delivered: ${by('changed')}`;
    case 'doubled':
      return (
        `${what} ${are} more than once in ${name}: somebody else copied ${them} there, or ` +
        `Sluice delivered ${them} again while ${differences === 1 ? 'it was' : 'they were'} ` +
        'still there.'
      );
    case 'foreign':
      return `${counted(differences, thing)} in ${name} ${are} in no delivery: ${by('added')}`;
    case 'receipt':
      return `The receipt of the delivery${of_day} in ${name} is gone or was changed.`;
    case 'unreadable':
      return `${what} in ${name} cannot be read.`;
    case 'uncertain':
      return `The run${of_day} ended during its commit: its rows may be in ${name} or not.`;
  }
}

/** Describes the findings of a part in one text. */
export function noticeSentence(place: Place, told: ShownDeviation[]): string {
  const sentences = told.slice(0, told_max).map((one) => deviationSentence(place, one));
  const more = told.length - told_max;
  return [...sentences, ...(more > 0 ? [`And ${counted(more, 'more finding')}.`] : [])].join(' ');
}

/** Returns the days of a data interval in the zone of its export, as `14 November 2026`. */
function daysOf(start: string, end: string, timeZone: string): string {
  const days = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone });
  return days.formatRange(new Date(start), new Date(Date.parse(end) - 1));
}

/** Returns the noun for what an export delivers, and the name of its place. */
function placeOf({ destination_type, destination_config }: Place): { thing: string; name: string } {
  const config = destination_config ?? {};
  const given = (...names: string[]) =>
    names.map((name) => config[name]).find((name) => typeof name === 'string' && name !== '');
  const table = given('table_name', 'table_id', 'table');
  if (typeof table === 'string')
    return { thing: given('table') === undefined ? 'row' : 'file', name: table };
  const folder = given('bucket_name', 'container', 'prefix');
  // The folders before the first one that depends on the time of a delivery.
  const name = typeof folder === 'string' ? folder.replace(/\/?[^/{]*\{.*$/s, '') : '';
  return { thing: 'file', name: name === '' ? destination_type : name };
}
