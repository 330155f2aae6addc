/**
 * The host of an address as it is written in a config, for `host`; undefined where there is none.
 */
export function urlHost(address: unknown): string | undefined {
  return typeof address === 'string' ? URL.parse(address)?.hostname : undefined;
}
