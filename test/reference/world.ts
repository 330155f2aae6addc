import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sql from 'sql-template-tag';
import { startWorker } from '../../server/engine/exports/workers/worker.ts';
import { openDns } from '../../server/platform/dns/dns.ts';
import { silentLog } from '../../server/platform/log.ts';
import { openMail } from '../../server/platform/mail/mail.ts';
import { systemClock } from '../../server/platform/clock.ts';
import { setPluginsLevel } from '../factories/plugins/plugins.ts';
import { newPerson } from '../factories/people/people.ts';
import { openHarness } from '../harness.ts';
import type { Answer, Harness, TestOrganization } from '../harness.ts';
import { openDnsServer } from '../servers/dns_server.ts';
import type { DnsServer } from '../servers/dns_server.ts';
import { openHttpReceiver } from '../servers/http_receiver.ts';
import type { HttpReceiver } from '../servers/http_receiver.ts';
import { openMailServer } from '../servers/mail_server.ts';
import type { MailServer } from '../servers/mail_server.ts';
import { openPluginRegistry } from '../servers/plugin_registry.ts';
import type { PluginRegistry } from '../servers/plugin_registry.ts';

/** The address of the server in the examples. */
export const public_url = 'https://sluice.example.com';

/** The address of the owner of the organization, who has `password`. */
export const owner_address = 'ada@example.com';

/** The surroundings of the stories: a server, an organization, and the services around a server. */
export type StoryWorld = {
  harness: Harness;
  home: TestOrganization;
  /** The paths of the organization and of its project. */
  organization: string;
  project: string;
  /** Sends a request with the owner's key, or these headers; fails unless it succeeds. */
  ask(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<any>;
  /** Does the work while a worker delivers the planned runs. */
  delivering(work: () => Promise<void>): Promise<void>;
  resolver: DnsServer;
  mail: MailServer;
  registry: PluginRegistry;
  receiver: HttpReceiver;
  close(): Promise<void>;
};

/** Opens the world of the stories, which is empty at first. */
export async function openStoryWorld(): Promise<StoryWorld> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-reference-'));
  const [resolver, mail, registry, receiver] = await Promise.all([
    openDnsServer(),
    openMailServer(),
    openPluginRegistry(),
    openHttpReceiver({}),
  ]);
  const log = silentLog();
  const harness = await openHarness({
    config: {
      public_url,
      export_dir: folder,
      settle_seconds: 1,
      npm_registry_url: registry.endpoint,
    },
    deps: {
      dns: openDns({ servers: [resolver.address], time_limit_ms: 4_000, log }),
      mail: openMail({
        url: mail.url,
        from: 'Sluice <sluice@example.com>',
        log,
        clock: systemClock,
      }),
    },
  });
  const home = await harness.newOrganization({ name: 'Acme' });
  await setPluginsLevel(harness, home, 9);
  await nameUser(harness, home.user.id, 'Ada', owner_address);
  return {
    harness,
    home,
    organization: `/api/organizations/${home.organization.id}/`,
    project: `/api/projects/${home.project.id}/`,
    ask: async (method, path, body, headers = { authorization: `Bearer ${home.key}` }) =>
      succeeded(await harness.request(method, path, { body, headers }), `${method} ${path}`),
    delivering: async (work) => {
      const limits = { runs_max: 2, project_runs_max: 2, host_runs_max: 2 };
      const worker = await startWorker(harness.deps.engine, limits);
      await work().finally(() => worker.stop());
    },
    resolver,
    mail,
    registry,
    receiver,
    close: async () => {
      await harness.close();
      await Promise.all([resolver, mail, registry, receiver].map((one) => one.close()));
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Returns the body of an answer; fails unless the request succeeded. */
export function succeeded(answer: Answer, what: string): any {
  assert.ok(answer.status < 300, `${what} answered ${answer.status}: ${answer.text}`);
  return answer.body;
}

/** Gives a person a name, a readable address, and `password`. */
export async function nameUser(
  harness: Harness,
  id: number,
  first_name: string,
  email: string,
): Promise<void> {
  const { id: other } = await newPerson(harness);
  await harness.deps.db.run(sql`UPDATE users SET first_name = ${first_name}, last_name = 'Example',
    email = ${email}, is_email_verified = true,
    password_hash = (SELECT password_hash FROM users WHERE id = ${other}) WHERE id = ${id}`);
}
