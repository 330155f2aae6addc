import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { eventually } from '../eventually.ts';
import { listen } from './loopback.ts';

// Installed by `python3 -m venv peers/moto && peers/moto/bin/pip install 'moto[server,s3,sts]'`.
const program = ['peers/moto/bin/moto_server', 'moto_server'].find(
  (one) => spawnSync(one, ['--help']).status === 0,
);

/** The reason to skip tests that need moto; false where it is installed. */
export const without_moto =
  program === undefined ? 'moto (PyPI, moto[server]) is not installed.' : false;

/** A moto server: its address, and the function that ends it. */
export type Moto = { endpoint: string; close(): Promise<unknown> };

/** Starts moto, which imitates S3, STS and Glue. */
export async function startMoto(): Promise<Moto> {
  const holder = await listen(createServer());
  const { port } = holder.address() as AddressInfo;
  holder.close();
  const server = spawn(program!, ['-H', '127.0.0.1', '-p', String(port)], { stdio: 'ignore' });
  const endpoint = `http://127.0.0.1:${port}`;
  await eventually(
    'moto does not answer.',
    async () => (await fetch(`${endpoint}/moto-api/`).catch(() => undefined)) !== undefined,
  );
  return {
    endpoint,
    close: async () => {
      server.kill();
      return once(server, 'exit');
    },
  };
}
