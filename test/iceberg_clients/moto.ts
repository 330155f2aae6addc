import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { eventually } from '../eventually.ts';
import { moto_server } from './run_client.ts';

/** A server of moto, which imitates S3, IAM and STS. */
export type Moto = {
  endpoint: string;
  access_key: string;
  secret_key: string;
  role_arn: string;
  close(): Promise<void>;
};

const role_arn = 'arn:aws:iam::123456789012:role/lake';

/** Starts moto with a bucket, and with a role that anyone may assume. */
export async function openMoto(bucket: string): Promise<Moto> {
  const port = await freePort();
  const endpoint = `http://127.0.0.1:${port}`;
  const child = spawn(moto_server, ['-H', '127.0.0.1', '-p', String(port)], {
    stdio: 'ignore',
  });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  await eventually('moto does not answer', async () => {
    const answer = await fetch(`${endpoint}/${bucket}`, { method: 'PUT' }).catch(() => undefined);
    return answer?.status === 200;
  });
  return {
    endpoint,
    access_key: 'AKIATHATONLYTESTSHAVE',
    secret_key: 'a-secret-that-only-tests-have',
    role_arn,
    close: async () => {
      child.kill();
      await ended;
    },
  };
}

/** Returns a free port of this machine. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
