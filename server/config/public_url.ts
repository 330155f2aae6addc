/** Returns the default address of a server without SLUICE_PUBLIC_URL. */
export function ownUrl(host: string, port: number): string {
  const isAnywhere = host === '0.0.0.0' || host === '::';
  const name = isAnywhere ? 'localhost' : host.includes(':') ? `[${host}]` : host;
  return `http://${name}:${port}`;
}

/**
 * Puts the port that the server got into all links, if it took a free port and no SLUICE_PUBLIC_URL
 * is set. The port is unknown before the server listens.
 */
export function notePort(
  config: { host: string; port: number; public_url: string },
  address: string,
): void {
  if (config.port !== 0 || config.public_url !== ownUrl(config.host, 0)) return;
  config.public_url = ownUrl(config.host, Number(new URL(address).port));
}
