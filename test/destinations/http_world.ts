import { destinationDeps } from './destination_deps.ts';
import { betweenFiles } from '../between_files.ts';
import { openHttpReceiver } from '../servers/http_receiver.ts';
import type { HttpReceiver } from '../servers/http_receiver.ts';
import type { HttpConfig } from '../../server/engine/destinations/http/config.ts';

/** The parts that the server gives to the destination. */
export const deps = destinationDeps();

/** The token that the guarded paths of the receiver ask for. */
export const token = 'token-for-"tests"';

/** Opened before the tests of the files that import it, and closed after them. */
export let receiver: HttpReceiver;

/** A receiver with TLS. */
export let secure: HttpReceiver;

let places = 0;

/** A config with a guarded path of its own. */
export const freshConfig = (changes: Partial<HttpConfig> = {}): HttpConfig => ({
  url: `${receiver.url}/guarded/${(places += 1)}`,
  token,
  ...changes,
});

/** The address of a path of its own that asks for no token. */
export const freshPath = () => `${receiver.url}/open/${(places += 1)}`;

/** The path of a config. */
export const pathOf = (config: HttpConfig) => new URL(config.url).pathname;

/** A secret for signatures, of so many bytes. */
export const secret = (bytes: number) => `whsec_${Buffer.alloc(bytes).toString('base64')}`;

/** Opens what this file exports; for files that need it, one after the other. */
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
