import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { listen } from '../loopback.ts';

/** Returns different free ports of 127.0.0.1. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(Array.from({ length: count }, () => listen(createServer())));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return ports;
}

/** A foreign server, and the function that ends it. */
export type Started = { close(): Promise<void> };

/**
 * Starts a program and waits until `isUp` returns true; throws the program's output if it ends
 * before.
 */
export async function startProgram(
  [program, ...args]: [string, ...string[]],
  cwd: string,
  isUp: () => Promise<boolean>,
): Promise<Started> {
  const child = spawn(program, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = once(child, 'exit');
  let written = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (bytes: Buffer) => (written = (written + bytes.toString()).slice(-4_000)));
  const until = Date.now() + 180_000;
  while (!(await isUp().catch(() => false))) {
    if (child.exitCode === null && Date.now() < until) {
      await new Promise((resolve) => setTimeout(resolve, 200));
      continue;
    }
    child.kill('SIGKILL');
    throw new Error(`${program} does not answer. It wrote: ${written}`);
  }
  return {
    close: async () => {
      child.kill('SIGKILL');
      await ended;
    },
  };
}
