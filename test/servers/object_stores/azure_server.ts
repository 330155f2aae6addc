import http from 'node:http';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { openFaultyServer } from '../faulty_server.ts';
import type { Refusal } from '../faulty_server.ts';
import type { FaultyServer } from '../faulty_server.ts';

/** Azure Blob Storage in Microsoft's own emulator, on 127.0.0.1. */
export type AzureServer = FaultyServer & {
  account_name: string;
  account_key: string;
};

const account_name = 'devstoreaccount1';
// The emulator's account; its key is public and the same everywhere.
const account_key =
  'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==';

/** The used parts of Azurite's own modules, which have no types. */
type Azurite = {
  BlobServer: new (configuration: object) => {
    start(): Promise<void>;
    close(): Promise<void>;
    getHttpServerAddress(): string;
  };
  BlobConfiguration: new (
    host: string,
    port: number,
    keep_alive_seconds: number,
    ...rest: unknown[]
  ) => object;
};

/**
 * Runs Azurite without its command line, which also loads the code for databases. As a separate
 * process it took twice the processor time to start.
 */
function loadAzurite(): Azurite {
  const require = createRequire(import.meta.url);
  const load = (url: string) => (require(fileURLToPath(url)) as { default: never }).default;
  return {
    BlobServer: load(import.meta.resolve('azurite/dist/src/blob/BlobServer.js')),
    BlobConfiguration: load(import.meta.resolve('azurite/dist/src/blob/BlobConfiguration.js')),
  };
}

/**
 * Starts Azurite, in memory, behind a proxy that can cause faults. It checks shared keys and
 * signatures itself, but its code for a wrong one means a firewall at Azure. The proxy replaces it
 * with Azure's code.
 */
export async function openAzureServer(): Promise<AzureServer> {
  const { BlobServer, BlobConfiguration } = loadAzurite();
  const keep_alive_seconds = 5;
  const configuration = new BlobConfiguration(
    '127.0.0.1',
    0,
    keep_alive_seconds,
    '',
    '',
    [],
    false,
  );
  const azurite = new BlobServer(
    Object.assign(configuration, { skipApiVersionCheck: true, isMemoryPersistence: true }),
  );
  await azurite.start();
  const port = Number(new URL(azurite.getHttpServerAddress()).port);
  const front = await openFaultyServer(
    (request, response) => forward(request, response, port),
    refuse,
  );
  return {
    ...front,
    endpoint: `${front.endpoint}/${account_name}`,
    account_name,
    account_key,
    close: async () => {
      await front.close();
      await azurite.close();
    },
  };
}

const refuse: Refusal = (_request, response, status, code) => {
  const body =
    '<?xml version="1.0" ' +
    `encoding="utf-8"?><Error><Code>${code}</Code><Message>${code}</Message></Error>`;
  response
    .writeHead(status, { 'content-type': 'application/xml', 'x-ms-error-code': code })
    .end(body);
};

function forward(request: http.IncomingMessage, response: http.ServerResponse, port: number): void {
  const onward = http.request(
    {
      host: '127.0.0.1',
      port,
      method: request.method,
      path: request.url,
      headers: request.headers,
    },
    (answer) => {
      if (answer.headers['x-ms-error-code'] === 'AuthorizationFailure')
        return refuse(request, response, 403, 'AuthenticationFailed');
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    },
  );
  onward.on('error', () => response.destroy());
  response.on('close', () => onward.destroy());
  request.pipe(onward);
}
