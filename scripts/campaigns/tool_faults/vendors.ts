import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { startConnectProxy } from '../../../test/servers/connect_proxy.ts';
import type { ConnectProxy } from '../../../test/servers/connect_proxy.ts';
import { listenLocally } from '../../../test/servers/loopback.ts';
import type { Vendor } from '../../../test/vendors/description.ts';
import { openVendorReceiver, sendAnswer } from '../../../test/vendors/receiver.ts';
import { readVendors } from '../../../test/vendors/vendors.ts';
import { noteArrivals, noteKeys } from './receiver.ts';
import type { Fates, Receiver } from './receiver.ts';

/** Vendors that recognize repeats by a key. */
const keyed = [
  'Amplitude',
  'Attentive',
  'Customer.io',
  'Iterable',
  'Klaviyo',
  'Mixpanel',
  'TikTok',
];
/** Vendors that treat each request as a new one. */
const unkeyed = ['Braze', 'Google Analytics 4', 'Slack'];

/** The receivers of vendors, behind a proxy like an operator's. */
export type VendorFront = {
  vendors: Vendor[];
  /** True if this vendor recognizes repeats. */
  hasKeys(name: string): boolean;
  /** Requests that the descriptions of the vendors lack. */
  faults: string[];
  close(): Promise<void>;
};

/**
 * Opens the vendors; later processes of the server find them. `notes` gets each arrival under the
 * vendor's name; `numbers` has the number of each event by its uuid.
 */
export async function openVendorFront(
  folder: string,
  { fateOf }: Fates,
  notes: Pick<Receiver, 'arrivals' | 'kept'>,
  numbers: ReadonlyMap<string, number>,
): Promise<VendorFront> {
  const vendors = readVendors().filter(({ name }) => [...keyed, ...unkeyed].includes(name));
  const receiver = await openVendorReceiver(vendors);
  const found = ({ event, key }: { event: unknown; key: string | undefined }) => {
    const uuid = uuidIn(event);
    return { uuid, key: key ?? uuid, number: numbers.get(uuid) ?? -1 };
  };
  const serve = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await buffer(incoming);
    const host = String(incoming.headers.host);
    const vendor = vendors.find(({ hosts }) => hosts.includes(host))!;
    const fate = fateOf(vendor.name);
    if (fate === 'cut') return void response.destroy();
    if (fate !== 'taken' && fate !== 'lost')
      receiver.next(vendor, fate === 'limited' ? 'limited' : 'outage', 1);
    const [taken, kept] = [receiver.taken(vendor).length, receiver.kept(vendor).length];
    const answer = receiver.answer(host, incoming, body);
    noteArrivals(
      notes,
      vendor.name,
      receiver.taken(vendor).slice(taken).map(found),
      fate === 'lost',
    );
    const all = receiver.kept(vendor).slice(kept).map(found);
    noteKeys(
      notes,
      vendor.name,
      all.map(({ key, number }) => [key, number]),
    );
    if (fate === 'lost') response.destroy();
    else sendAnswer(response, answer);
  };
  const hosts = vendors.flatMap((vendor) => vendor.hosts);
  const server = createServer(
    certify(folder, hosts),
    (incoming, response) => void serve(incoming, response).catch(() => response.destroy()),
  );
  const local = await listenLocally(server);
  const proxy = await leadTo(local.port, folder, hosts);
  return {
    vendors,
    hasKeys: (name) => !unkeyed.includes(name),
    faults: receiver.faults,
    close: async () => {
      await proxy.close();
      await local.close();
      await receiver.close();
    },
  };
}

/** Opens the proxy, and sets the variables with which the server's processes find it. */
async function leadTo(port: number, folder: string, hosts: string[]): Promise<ConnectProxy> {
  const proxy = await startConnectProxy();
  proxy.targets['3.68.170.153:443'] = port;
  Object.assign(process.env, {
    HTTPS_PROXY: `http://127.0.0.1:${proxy.port}`,
    NODE_EXTRA_CA_CERTS: join(folder, 'vendors.crt'),
    NODE_OPTIONS: `--import=${fileURLToPath(new URL('lookup.ts', import.meta.url))}`,
    CAMPAIGN_HOSTS: hosts.join(),
  });
  return proxy;
}

/** Returns the uuid of an event, from its key or another part. */
function uuidIn(event: unknown): string {
  const [uuid = ''] =
    /[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/.exec(JSON.stringify(event)) ?? [];
  return uuid;
}

/** Creates a certificate for the hosts. */
function certify(folder: string, hosts: string[]): { key: Buffer; cert: Buffer } {
  const [key, cert] = [join(folder, 'vendors.key'), join(folder, 'vendors.crt')];
  const names = hosts.map((host) => `DNS:${host}`).join();
  const words = [
    'req',
    '-x509',
    '-newkey',
    'rsa:2048',
    '-nodes',
    '-days',
    '2',
    '-subj',
    '/CN=vendors',
  ];
  execFileSync(
    'openssl',
    [...words, '-keyout', key, '-out', cert, '-addext', `subjectAltName=${names}`],
    {
      stdio: 'ignore',
    },
  );
  return { key: readFileSync(key), cert: readFileSync(cert) };
}
