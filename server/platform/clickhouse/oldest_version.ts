import type { ClickHouseSettings } from '@clickhouse/client';

/**
 * Names of settings that our clients send with every request; an old server does not know all of
 * them.
 */
const sent = ['date_time_output_format', 'output_format_json_quote_64bit_integers'];

/** Removes the client's settings from one request, so that an old server answers it. */
export const without_settings = Object.fromEntries(
  sent.map((name) => [name, undefined]),
) as unknown as ClickHouseSettings;

/** A query for the version that each release understands. */
export const version_query = 'SELECT version() AS version';

/**
 * Returns true if a release is older than another, by year and month (`22.8`). An unreadable
 * version is not older: custom builds may have any name.
 */
export function isOlder(version: string, oldest: string): boolean {
  const [year, month] = oldest.split('.').map(Number) as [number, number];
  const [, own_year, own_month] = /^(\d+)\.(\d+)/.exec(version) ?? [];
  if (own_year === undefined) return false;
  return Number(own_year) < year || (Number(own_year) === year && Number(own_month) < month);
}
