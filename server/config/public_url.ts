/** The address of a server of which no SLUICE_PUBLIC_URL tells how users reach it. */
export function ownUrl(host: string, port: number): string {
  const isAnywhere = host === '0.0.0.0' || host === '::';
  const name = isAnywhere ? 'localhost' : host.includes(':') ? `[${host}]` : host;
  return `http://${name}:${port}`;
}

/**
 * Has all links begin with the port that the server got, where it was told to take a free one and
 * nobody said how users reach it: which one that is nobody knows before it listens.
 */
export function notePort(
  config: { host: string; port: number; public_url: string },
  address: string,
): void {
  if (config.port !== 0 || config.public_url !== ownUrl(config.host, 0)) return;
  config.public_url = ownUrl(config.host, Number(new URL(address).port));
}
