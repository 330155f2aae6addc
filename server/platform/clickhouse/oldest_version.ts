import type { ClickHouseSettings } from '@clickhouse/client';

/** Names of settings that clients of ours send with every request; an old server knows not all. */
const sent = ['date_time_output_format', 'output_format_json_quote_64bit_integers'];

/** Takes the settings of the client out of one request, so that an old server answers it. */
export const without_settings = Object.fromEntries(
  sent.map((name) => [name, undefined]),
) as unknown as ClickHouseSettings;

/** Asks for the version, as each release understands it. */
export const version_query = 'SELECT version() AS version';

/**
 * Is a release older than another, by year and month (`22.8`)? One that cannot be read is not: a
 * build of one's own may call itself as it likes.
 */
export function isOlder(version: string, oldest: string): boolean {
  const [year, month] = oldest.split('.').map(Number) as [number, number];
  const [, own_year, own_month] = /^(\d+)\.(\d+)/.exec(version) ?? [];
  if (own_year === undefined) return false;
  return Number(own_year) < year || (Number(own_year) === year && Number(own_month) < month);
}
