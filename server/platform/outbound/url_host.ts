/** Returns the host of a URL in a config, for `host`; undefined if there is none. */
export function urlHost(address: unknown): string | undefined {
  return typeof address === 'string' ? URL.parse(address)?.hostname : undefined;
}
