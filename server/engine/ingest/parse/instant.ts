import { isoInstant } from '../../../platform/clock.ts';

const pattern =
  /^(\d{4})-(\d{2})-(\d{2})[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d+))?)?(?:([Zz])|([+-])(\d{2}):?(\d{2})?)$/;
/** The form that most senders write, up to day 28. Reading groups takes several times as long. */
const usual =
  /^(?:19[7-9]|2[01]\d)\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,6})?Z$/;
const year_min = 1970;
const year_max = 2200;
const minute_ms = 60_000;

let latest = { milliseconds: Number.NaN, text: '' };

/**
 * Returns milliseconds since the epoch as the text that ClickHouse reads into `DateTime64(6,
 * 'UTC')`: `2024-05-01 12:00:00.123000`.
 */
export function storeInstant(milliseconds: number): string {
  // Many events ask for the same instant: now.
  if (milliseconds !== latest.milliseconds)
    latest = { milliseconds, text: isoInstant(milliseconds).replace('T', ' ').slice(0, -1) };
  return latest.text;
}

/** Microseconds of the latest arrival. */
let arrived = 0;

/**
 * Returns the instant of an event without a timestamp, in the store's form: now, and at least a
 * microsecond after the previous one. So events of one request keep their order.
 */
export function arrivalInstant(now_ms: number): string {
  const now = now_ms * 1_000;
  // A clock that was set back by more than a second counts as correct.
  arrived = now > arrived || arrived - now > 1_000_000 ? now : arrived + 1;
  const text = storeInstant(Math.floor(arrived / 1_000));
  return `${text.slice(0, -3)}${String(arrived % 1_000).padStart(3, '0')}`;
}

/**
 * Returns an ISO 8601 instant with a zone as the text that ClickHouse reads into `DateTime64(6,
 * 'UTC')`; digits beyond microseconds are cut off. Undefined for anything else: no zone, a day that
 * does not exist, a year outside 1970 to 2200.
 */
export function parseInstant(text: string): string | undefined {
  if (usual.test(text))
    return `${text.slice(0, 10)} ${text.slice(11, 19)}.${text.slice(20, -1).padEnd(6, '0')}`;
  const match = pattern.exec(text);
  if (!match) return undefined;
  const [
    ,
    year,
    month,
    day,
    hour,
    minute,
    second = '00',
    fraction = '',
    utc,
    sign,
    zoneHour = '00',
    zoneMinute = '00',
  ] = match;
  if (!isDay(Number(year), Number(month), Number(day))) return undefined;
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined;
  if (Number(zoneHour) > 23 || Number(zoneMinute) > 59) return undefined;
  const offset =
    utc === undefined ? (sign === '-' ? -1 : 1) * (Number(zoneHour) * 60 + Number(zoneMinute)) : 0;
  const wall = `${year}-${month}-${day}T${hour}:${minute}:${second}`;
  // Most instants are in UTC and need no Date object.
  const utcDate = offset === 0 ? wall : isoInstant(Date.parse(`${wall}Z`) - offset * minute_ms);
  const utcYear = Number(utcDate.slice(0, 4));
  if (!(utcYear >= year_min && utcYear <= year_max)) return undefined;
  return `${utcDate.slice(0, 10)} ${utcDate.slice(11, 19)}.${fraction.slice(0, 6).padEnd(6, '0')}`;
}

/** Returns true for a day that exists in the calendar. */
export function isDay(year: number, month: number, day: number): boolean {
  if (month < 1 || month > 12 || day < 1) return false;
  if (month !== 2)
    return day <= (month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31);
  const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  return day <= (isLeap ? 29 : 28);
}
