// Reads one organization as fast as it goes: through the whole API, and through a bare node:http
// server that does nothing but the same prepared SELECT. Run:
// SLUICE_TEST_DATABASE_URL=postgresql://... node bench/organization_read.ts (without the variable
// an embedded PostgreSQL is started)
import { createServer } from 'node:http';
import { fork } from 'node:child_process';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { findOrganization } from '../server/api/organizations/store.ts';
import { buildApp } from '../server/app.ts';
import { openHarness } from '../test/harness.ts';

type Result = {
  non2xx: number;
  requests: { average: number; total: number };
  latency: { p99: number };
};
// The package brings no types.
const autocannon = createRequire(import.meta.url)('autocannon') as (options: {
  url: string;
  connections: number;
  duration: number;
  headers: Record<string, string>;
}) => Promise<Result>;

const connections = 32;
const duration_seconds = 5;
const rounds = 3;

type Load = { requests_per_second: number; requests: number; p99_ms: number };

/**
 * Requests a second of one address and this process's CPU time for each; autocannon runs in a
 * process of its own so that it does not share the server's event loop.
 */
async function measure(url: string, key: string): Promise<Load & { cpu_us: number }> {
  const before = process.cpuUsage();
  const child = fork(fileURLToPath(import.meta.url), ['load', url, key]);
  const result = await new Promise<Load>((resolve, reject) => {
    child.on('message', (message) => resolve(message as Load));
    child.on('exit', (code) => reject(new Error(`load ended with ${code}`)));
  });
  child.disconnect();
  const { user, system } = process.cpuUsage(before);
  return { ...result, cpu_us: Math.round((user + system) / result.requests) };
}

async function load(url: string, key: string): Promise<void> {
  const result = await autocannon({
    url,
    connections,
    duration: duration_seconds,
    headers: { authorization: `Bearer ${key}` },
  });
  if (result.non2xx > 0) throw new Error(`${result.non2xx} answers were not 200`);
  process.send?.({
    requests_per_second: result.requests.average,
    requests: result.requests.total,
    p99_ms: result.latency.p99,
  });
}

async function main(): Promise<void> {
  const harness = await openHarness({
    clickhouse: false,
    config: { rate_limit_per_minute: 10_000_000, rate_limit_per_hour: 100_000_000 },
  });
  try {
    const { organization, key } = await harness.newOrganization();
    const { db } = harness.deps;
    const bare = createServer((_request, response) => {
      void findOrganization(db, organization.id, 15).then((row) =>
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(row)),
      );
    });
    await new Promise<void>((resolve) => bare.listen(0, '127.0.0.1', resolve));
    // Not the harness's own app, which checks every answer against its schema.
    const app = buildApp(harness.deps);
    await app.listen({ host: '127.0.0.1', port: 0 });
    const at = (address: AddressInfo) =>
      `http://127.0.0.1:${address.port}/api/organizations/${organization.id}/`;
    for (let round = 1; round <= rounds; round += 1) {
      const raw = await measure(at(bare.address() as AddressInfo), key);
      const api = await measure(at(app.server.address() as AddressInfo), key);
      const told = ({ requests_per_second, cpu_us, p99_ms }: typeof raw) =>
        `${requests_per_second.toFixed(0)}/s (${cpu_us} us of CPU each, p99 ${p99_ms} ms)`;
      console.log(
        `round ${round}: bare ${told(raw)}, API ${told(api)}, ` +
          `ratio ${(api.requests_per_second / raw.requests_per_second).toFixed(2)}`,
      );
    }
    bare.close();
    await app.close();
  } finally {
    await harness.close();
  }
}

const [mode, url, key] = process.argv.slice(2);
await (mode === 'load' ? load(url!, key!) : main());
