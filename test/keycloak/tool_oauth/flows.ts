import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import sql from 'sql-template-tag';
import { eventually } from '../../eventually.ts';
import { connectInBrowser, makeDue } from './world.ts';
import type { ToolWorld } from './world.ts';

/** A flow from start to end; the flows follow each other. */
export type ToolFlow = { name: string; walk(world: ToolWorld): Promise<void> };

/** Waits until each event of the project has arrived with an active token. */
async function allArrive({ receiver, stored }: ToolWorld): Promise<void> {
  const wanted = await stored();
  await eventually('not all events have arrived', () => {
    const came = new Set(receiver.taken.map(({ uuid }) => uuid));
    return wanted.every((uuid) => came.has(uuid));
  });
}

async function generationOf({ db, config_id }: ToolWorld): Promise<number> {
  const row = await db.row<{ generation: number }>(sql`SELECT generation
    FROM plugin_oauth_connections WHERE plugin_config_id = ${config_id}`);
  return row!.generation;
}

const refresh_program = fileURLToPath(new URL('./refresh_process.ts', import.meta.url));

/** Starts a process that refreshes; `lines` is its output. */
function startRefresh({ database_url, secret_key, config_id }: ToolWorld, generation: number) {
  const words = [refresh_program, database_url, secret_key, String(config_id), String(generation)];
  const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'inherit'] });
  const lines: string[] = [];
  createInterface(child.stdout).on('line', (line) => lines.push(line));
  return { lines, ended: once(child, 'exit') };
}

/** The flows, in their order. */
export const tool_flows: ToolFlow[] = [
  {
    name: 'a person connects the tool at Keycloak, and the events that waited arrive',
    walk: async (world) => {
      await world.send(20);
      await eventually('the tool does not say that it is not connected', async () => {
        const { error } = await world.ask(200, 'GET', world.config);
        return /not connected/.test(error?.message ?? '');
      });
      await connectInBrowser(world.page);
      await allArrive(world);
      assert.equal(world.receiver.refused, 0);
    },
  },
  {
    name: 'refresh tokens are good once: each is shown once, and each answer is kept',
    walk: async (world) => {
      for (let round = 0; round < 5; round += 1) {
        const before = world.door.refreshes.length;
        await makeDue(world);
        await world.send(5);
        await allArrive(world);
        assert.ok(world.door.refreshes.length > before);
      }
      const shown = world.door.refreshes.map(({ token }) => token);
      assert.equal(new Set(shown).size, shown.length);
      assert.ok(world.door.refreshes.every(({ status }) => status === 200));
    },
  },
  {
    name: 'two processes that refresh at once ask Keycloak once, and get the same tokens',
    walk: async (world) => {
      const generation = await generationOf(world);
      const before = world.door.refreshes.length;
      const release = world.door.hold();
      const both = [startRefresh(world, generation), startRefresh(world, generation)];
      await eventually('one of the two does not ask', () =>
        both.every(({ lines }) => lines.includes('asking')),
      );
      await eventually('nobody refreshes', () => world.door.refreshes.length > before);
      release();
      await Promise.all(both.map(({ ended }) => ended));
      const got = both.map(({ lines }) => lines.at(-1));
      assert.deepEqual(got, [`got ${generation + 1}`, `got ${generation + 1}`]);
      assert.equal(world.door.refreshes.length, before + 1);
    },
  },
  {
    name: 'a worker that is killed before it stored the answer: the reason is told, none is lost',
    walk: async (world) => {
      const before = world.door.refreshes.length;
      const release = world.door.hold();
      await makeDue(world);
      await world.send(10);
      await eventually('nobody refreshes', () => world.door.refreshes.length > before);
      // Keycloak has replaced the refresh token, and no process here knows the new one.
      await world.worker.kill();
      release();
      await world.startWorker();
      await eventually('the tool does not say why it waits', async () => {
        const { error } = await world.ask(200, 'GET', world.config);
        return /connected again\..*was interrupted/.test(error?.message ?? '');
      });
      await world.page.reload();
      await connectInBrowser(world.page);
      await allArrive(world);
    },
  },
  {
    name: 'disconnecting in the console revokes the tokens at Keycloak',
    walk: async (world) => {
      const { token } = world.receiver.taken.at(-1)!;
      assert.equal(await world.introspect(token), true);
      const section = world.page.getByRole('region', { name: 'Connection' });
      await section.getByRole('button', { name: 'Disconnect' }).click();
      await world.page.getByRole('dialog').getByRole('button', { name: 'Disconnect' }).click();
      await section.getByText('Not connected').waitFor();
      assert.equal(await world.introspect(token), false);
      await world.send(3);
      const taken = world.receiver.taken.length;
      await eventually('the tool does not say that it is not connected', async () => {
        const { error } = await world.ask(200, 'GET', world.config);
        return /not connected/.test(error?.message ?? '');
      });
      assert.equal(world.receiver.taken.length, taken);
      await connectInBrowser(world.page);
      await allArrive(world);
      const counts = new Map<string, number>();
      for (const { uuid } of world.receiver.taken) counts.set(uuid, (counts.get(uuid) ?? 0) + 1);
      assert.ok([...counts.values()].every((times) => times <= 2));
    },
  },
];
