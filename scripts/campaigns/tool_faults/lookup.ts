import dns from 'node:dns';
import { syncBuiltinESMExports } from 'node:module';

// The server's processes import it first. It gives the hosts of vendors a public address, so that
// requests to them pass all checks and go to the campaign's proxy.

const hosts = (process.env['CAMPAIGN_HOSTS'] ?? '').split(',');
const address = '3.68.170.153';
const { lookup } = dns.promises;
dns.promises.lookup = (async (host: string, options?: { all?: boolean }) => {
  if (!hosts.includes(host)) return lookup(host, options ?? {});
  return options?.all === true ? [{ address, family: 4 }] : { address, family: 4 };
}) as typeof lookup;
syncBuiltinESMExports();
