import { spawn } from 'node:child_process';
import { once } from 'node:events';
import http from 'node:http';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { openFaultyServer } from './faulty_server.ts';
import type { FaultyServer } from './faulty_server.ts';

/** Azure Blob Storage as Microsoft's own emulator has it, on 127.0.0.1. */
export type AzureServer = FaultyServer & {
  account_name: string;
  account_key: string;
};

const account_name = 'devstoreaccount1';
// The emulator's account; its key is the same everywhere and published by Microsoft.
const account_key =
  'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==';

/**
 * Starts Azurite, in memory, behind a front on which faults can be asked for. It checks shared keys
 * and signatures itself, but gives a wrong one the code that at Azure means a firewall: the front
 * gives it Azure's.
 */
export async function openAzureServer(): Promise<AzureServer> {
  const program = fileURLToPath(import.meta.resolve('azurite/dist/src/blob/main.js'));
  const options = [
    '--inMemoryPersistence',
    '--skipApiVersionCheck',
    '--disableTelemetry',
    '--silent',
    '--blobHost',
    '127.0.0.1',
    '--blobPort',
    '0',
  ];
  const child = spawn(process.execPath, [program, ...options], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const port = await listeningPort(child.stdout);
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
      child.kill();
      await once(child, 'exit');
    },
  };
}

function refuse(
  _request: http.IncomingMessage,
  response: http.ServerResponse,
  status: number,
  code: string,
): void {
  const body =
    '<?xml version="1.0" ' +
    `encoding="utf-8"?><Error><Code>${code}</Code><Message>${code}</Message></Error>`;
  response
    .writeHead(status, { 'content-type': 'application/xml', 'x-ms-error-code': code })
    .end(body);
}

async function listeningPort(output: NodeJS.ReadableStream): Promise<number> {
  for await (const line of createInterface({ input: output })) {
    const port = /successfully listens on http:\/\/127\.0\.0\.1:(\d+)/.exec(line)?.[1];
    if (port !== undefined) return Number(port);
  }
  throw new Error('Azurite ended before it listened.');
}

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
