import dns from 'node:dns';
import { syncBuiltinESMExports } from 'node:module';

// Imported by the processes of the server before all else. The hosts of vendors get a public
// address, so that requests to them pass all checks and go to the proxy of the campaign.

const hosts = (process.env['CAMPAIGN_HOSTS'] ?? '').split(',');
const address = '3.68.170.153';
const { lookup } = dns.promises;
dns.promises.lookup = (async (host: string, options?: { all?: boolean }) => {
  if (!hosts.includes(host)) return lookup(host, options ?? {});
  return options?.all === true ? [{ address, family: 4 }] : { address, family: 4 };
}) as typeof lookup;
syncBuiltinESMExports();
