import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { appendFileSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { createApiKey } from '../../server/platform/http/caller/api_key.ts';
import { call, serverEnvironment, startServer, until } from '../processes/server_process.ts';
import type { ServerProcess } from '../processes/server_process.ts';

const key = createApiKey();
const mebibyte = 2 ** 20;
/** Events that hardly compress, so that the disk fills in a minute. */
const events_per_request = 100;
const bytes_per_event = 16 * 1024;

/**
 * The size of the file system, the required free space (MiB as text; by default the server's own),
 * and the receiver of messages.
 */
type Wanted = { mebibytes: number; floor: string; say: (line: string) => void };

/**
 * Fills a file system under a server, and reports the effects. Rejects if an event with a 200 is
 * not stored exactly once, an acknowledged change is missing, or the server does not continue on
 * its own.
 */
export async function runFullDisk({ mebibytes, floor, say }: Wanted): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-full-disk-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m`, 'tmpfs', folder]);
  let server: ServerProcess | undefined;
  try {
    server = await startServer(
      ['start'],
      serverEnvironment(folder, key, {
        SLUICE_EXPORT_DIR: `${folder}-exports`,
        SLUICE_DISK_FREE_MB_MIN: floor,
      }),
    );
    await play(folder, server, say);
  } finally {
    await server?.stop();
    execFileSync('umount', ['--lazy', folder]);
    rmSync(folder, { recursive: true, force: true });
    rmSync(`${folder}-exports`, { recursive: true, force: true });
  }
}

async function play(
  folder: string,
  { address, output }: ServerProcess,
  say: (line: string) => void,
): Promise<void> {
  const free = () => {
    const { bavail, bsize } = statfsSync(folder);
    return `${Math.round((bavail * bsize) / mebibyte)} MiB free`;
  };
  const stored: string[] = [];
  const answers = new Map<string, number>();
  const send = async (small = false) => {
    const uuids = Array.from({ length: small ? 1 : events_per_request }, () => randomUUID());
    const status = await sendEvents(address, uuids, small ? 10 : bytes_per_event);
    answers.set(status, (answers.get(status) ?? 0) + 1);
    if (status === '200') stored.push(...uuids);
    return status;
  };
  const told = () => {
    const line = [...answers].map(([status, count]) => `${count} x ${status}`).join(', ');
    answers.clear();
    return line;
  };
  say(`started with ${free()}`);
  await until('503', 180_000, 0, async () => ((await send()) === '503' ? true : undefined));
  say(`events until it was full: ${told()}; ${stored.length} stored, ${free()}`);

  const names = await withoutRoom(address, folder, send, free, say);
  say(`while it was full: events ${told()}; changes ${JSON.stringify(Object.fromEntries(names))}`);
  say(`room again: ${free()}`);
  const began = performance.now();
  await until('readiness', 120_000, 500, async () => {
    const { status } = await call(address, key, 'GET', '/readyz').catch(() => ({ status: 0 }));
    return status === 200 ? true : undefined;
  });
  say(`ready again after ${Math.round(performance.now() - began)} ms`);
  execFileSync('mount', ['-o', `remount,size=${2 * sizeOf(folder)}m`, folder]);
  await until('200', 120_000, 500, async () => ((await send(true)) === '200' ? true : undefined));
  say(`events are taken again: ${told()}`);
  await compare(address, folder, stored, say);
  await compareChanges(address, names, say);
  say(`lines of the log at level error: ${(output().match(/"level":50/g) ?? []).length}`);
}

/** Fills the rest of the disk while requests continue, and returns the changes by status. */
async function withoutRoom(
  address: string,
  folder: string,
  send: (small: boolean) => Promise<string>,
  free: () => string,
  say: (line: string) => void,
): Promise<Map<string, number>> {
  const ballast = join(folder, 'ballast');
  for (let full = false; !full;)
    try {
      appendFileSync(ballast, randomBytes(4 * mebibyte));
    } catch {
      full = true;
    }
  say(`the disk is full to the last byte: ${free()}`);
  const names = new Map<string, number>();
  for (let turn = 0; turn < 40; turn += 1) {
    await send(true);
    // Changes by people need the control store, which has no space either.
    const status = await changeName(address, `full ${turn}`);
    names.set(status, (names.get(status) ?? 0) + 1);
    await pause(250);
  }
  rmSync(ballast);
  return names;
}

/** Every answered change is in the activity log, which is a chain. */
async function compareChanges(
  address: string,
  names: Map<string, number>,
  say: (line: string) => void,
): Promise<void> {
  const path = '/api/organizations/@current/activity/?limit=100';
  const { body } = await call(address, key, 'GET', path);
  const entries = (body['results'] as { scope: string; activity: string }[]).filter(
    ({ scope, activity }) => scope === 'organization' && activity === 'updated',
  ).length;
  say(`the activity log has ${entries} of these changes`);
  assert.ok(entries >= (names.get('200') ?? 0));
}

function sizeOf(folder: string): number {
  const { blocks, bsize } = statfsSync(folder);
  return Math.ceil((blocks * bsize) / mebibyte);
}

async function changeName(address: string, name: string): Promise<string> {
  const path = '/api/organizations/@current/';
  try {
    return String((await call(address, key, 'PATCH', path, { name })).status);
  } catch {
    return 'no answer';
  }
}

async function sendEvents(address: string, uuids: string[], bytes: number): Promise<string> {
  const events = uuids.map((uuid) => ({
    uuid,
    event: 'filled',
    distinct_id: uuid,
    properties: { text: randomBytes(bytes).toString('base64') },
  }));
  try {
    const path = '/api/projects/@current/events/';
    return String((await call(address, key, 'POST', path, { events })).status);
  } catch {
    return 'no answer';
  }
}

/** A backfill delivers everything, and its lines are the content of the store. */
async function compare(
  address: string,
  folder: string,
  stored: string[],
  say: (line: string) => void,
): Promise<void> {
  const exports = '/api/projects/@current/batch_exports/';
  const created = await call(address, key, 'POST', exports, {
    name: 'all',
    interval: 'day',
    destination: { type: 'File', config: { prefix: 'all' } },
  });
  assert.equal(created.status, 201);
  const url = `${exports}${String(created.body['id'])}/`;
  const now = Date.now();
  await call(address, key, 'POST', `${url}backfill/`, {
    start_at: new Date(now - 3_600_000).toISOString(),
    end_at: new Date(now + 60_000).toISOString(),
  });
  await until('the backfill', 120_000, 500, async () => {
    const { body } = await call(address, key, 'GET', `${url}backfills/`);
    const [backfill] = body['results'] as { status: string }[];
    return backfill?.status === 'Completed' ? true : undefined;
  });
  const lines = execFileSync('sh', ['-c', `cat ${folder}-exports/all/*.jsonl`], {
    maxBuffer: 2 ** 31 - 1,
  });
  const found = new Map<string, number>();
  for (const [, uuid] of lines.toString('latin1').matchAll(/^\{"uuid":"([0-9a-f-]{36})"/gm))
    found.set(uuid!, (found.get(uuid!) ?? 0) + 1);
  const lost = stored.filter((uuid) => !found.has(uuid));
  const doubled = [...found].filter(([, times]) => times > 1);
  say(
    `${stored.length} events were answered 200, ${found.size} are delivered: ` +
      `${lost.length} lost, ${doubled.length} doubled`,
  );
  assert.deepEqual([lost, doubled], [[], []]);
}
