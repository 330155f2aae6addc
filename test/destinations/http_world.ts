import { destinationDeps } from './destination_deps.ts';
import { betweenFiles } from '../between_files.ts';
import { openHttpReceiver } from '../servers/http_receiver.ts';
import type { HttpReceiver } from '../servers/http_receiver.ts';
import type { HttpConfig } from '../../server/engine/destinations/http/config.ts';

/** The parts that the server passes to the destination. */
export const deps = destinationDeps();

/** The token that the guarded paths of the receiver require. */
export const token = 'token-for-"tests"';

/** Opened before the tests of the files that import it, and closed after them. */
export let receiver: HttpReceiver;

/** A receiver with TLS. */
export let secure: HttpReceiver;

let places = 0;

/** A config with its own guarded path. */
export const freshConfig = (changes: Partial<HttpConfig> = {}): HttpConfig => ({
  url: `${receiver.url}/guarded/${(places += 1)}`,
  token,
  ...changes,
});

/** The address of a new path that requires no token. */
export const freshPath = () => `${receiver.url}/open/${(places += 1)}`;

/** The path of a config. */
export const pathOf = (config: HttpConfig) => new URL(config.url).pathname;

/** A secret for signatures, with this many bytes. */
export const secret = (bytes: number) => `whsec_${Buffer.alloc(bytes).toString('base64')}`;

/** Opens the exports of this file; files that need it run one after another. */
export const openAroundTests = betweenFiles(
  async () => {
    receiver = await openHttpReceiver({ token });
    secure = await openHttpReceiver({ tls: true });
  },
  async () => {
    await receiver.close();
    await secure.close();
    await deps.outbound.close();
  },
);
