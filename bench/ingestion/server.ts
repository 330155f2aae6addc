// A server in its own process that ingests events and reports its use of processor and memory. It
// runs the code of this checkout or another one. Started by ingestion.ts.
import { pathToFileURL } from 'node:url';
import type * as app_module from '../../server/app.ts';
import type * as log_module from '../../server/platform/log.ts';
import type * as harness_module from '../../test/harness.ts';

/** The address of ingestion, sent once it is open. */
export type Opened = {
  url: string;
  key: string;
  address: string;
  project: number;
  write_key: string;
};
/** The processor time of the event loop so far, and the peak of memory since the last message. */
export type Used = { processor_us: number; memory_bytes: number };

const [folder = ''] = process.argv.slice(2);
const part = (path: string) => pathToFileURL(`${folder}/${path}`).href;
const { openHarness } = (await import(part('test/harness.ts'))) as typeof harness_module;
const { buildApp } = (await import(part('server/app.ts'))) as typeof app_module;
const { openLog } = (await import(part('server/platform/log.ts'))) as typeof log_module;

const harness = await openHarness({
  config: { capture_limit_per_key: 0, capture_limit_per_address: 0 },
  deps: { log: openLog('error') },
});
const { key, project } = await harness.newOrganization();
// The harness's own app would check every answer against its schema.
const app = buildApp(harness.deps);
const address = await app.listen({ host: '127.0.0.1', port: 0 });
let memory_bytes = 0;
const watch = setInterval(() => {
  memory_bytes = Math.max(memory_bytes, process.memoryUsage.rss());
}, 1_000);
process.on('message', async (asked: 'used' | 'end') => {
  if (asked === 'used') {
    const { user, system } = process.threadCpuUsage();
    process.send!({ processor_us: user + system, memory_bytes } satisfies Used);
    memory_bytes = 0;
    return;
  }
  clearInterval(watch);
  await app.close();
  await harness.close();
  process.disconnect();
});
process.send!({
  url: `${address}/api/projects/${project.id}/events/`,
  key,
  address,
  project: project.id,
  write_key: project.api_token,
} satisfies Opened);
