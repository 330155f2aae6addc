import { systemClock } from '../../../server/platform/clock.ts';
import { silentLog } from '../../../server/platform/log.ts';
import { openOutbound } from '../../../server/platform/outbound/outbound.ts';
import type { PluginFiles, PluginManifest } from '../../../server/engine/plugins/plugin.ts';
import { bundlePackage } from '../../../server/engine/plugins/sandbox/bundle.ts';
import type {
  CapturedEvent,
  HostServices,
} from '../../../server/engine/plugins/sandbox/host_services.ts';
import type { SandboxLimits } from '../../../server/engine/plugins/sandbox/limits.ts';
import { sandboxProgram } from '../../../server/engine/plugins/sandbox/program.ts';
import { openSandbox } from '../../../server/engine/plugins/sandbox/sandbox.ts';
import type {
  LoadedPlugin,
  PluginInstance,
  Sandbox,
} from '../../../server/engine/plugins/sandbox/sandbox.ts';

/** The effects of a plugin on a platform that keeps everything in memory. */
export type PlatformRecord = {
  stored: Map<string, unknown>;
  cached: Map<string, unknown>;
  captured: CapturedEvent[];
  lines: { level: string; message: string }[];
  jobs: { name: string; payload: unknown; delay_ms: number }[];
  /** The counts of each call, in order. */
  counted: Record<string, number>[];
};

/** A loaded plugin and its effects so far. */
export type TestPlugin = { plugin: LoadedPlugin; record: PlatformRecord };

/** A sandbox for a test, and short ways to load a plugin from its source. */
export type TestSandbox = {
  sandbox: Sandbox;
  /** Compiles index.ts, or several files, and loads it. */
  load(source: string | PluginFiles, options?: Partial<PluginInstance>): Promise<TestPlugin>;
  /** Loads the output of the compiler. */
  loadCode(code: string, options?: Partial<PluginInstance>): Promise<TestPlugin>;
  close(): Promise<void>;
};

/** A signal that is never aborted. */
export const never = new AbortController().signal;

/** A minimal plugin.json. */
export const plain_manifest: PluginManifest = {
  name: 'test',
  description: null,
  icon: null,
  url: null,
  version: null,
  main: null,
  config_schema: [],
  fields: [],
  public_jobs: {},
};

/**
 * Returns the server part of a package; a text is index.ts. For our own code, the compiler works in
 * this process. The two processes that confine foreign code cost 0.1 s each time.
 */
export async function compileServer(source: string | PluginFiles): Promise<string> {
  // It stops the compiler once, for all concurrent builds.
  await sandboxProgram();
  const files = typeof source === 'string' ? { 'index.ts': source } : source;
  const bundles = await bundlePackage(files, plain_manifest);
  if ('fault' in bundles) throw new Error(`It does not compile: ${bundles.fault.message}`);
  if (bundles.server === null) throw new Error('The package has no server part.');
  return bundles.server;
}

/** Opens a sandbox whose guard allows `allow`, with these limits. */
export async function openTestSandbox(
  limits: Partial<SandboxLimits> = {},
  allow: string[] = [],
): Promise<TestSandbox> {
  const outbound = openOutbound({ allow });
  const sandbox = await openSandbox({
    outbound,
    log: silentLog(),
    clock: systemClock,
    public_url: 'http://127.0.0.1:8000',
    limits,
  });
  const loadCode: TestSandbox['loadCode'] = async (code, options) => {
    const record = emptyRecord();
    const plugin = await sandbox.load({
      id: 'test',
      code,
      config: {},
      allowed_hosts: ['127.0.0.1', '127.0.0.2', '169.254.169.254', '[::1]'],
      host: platformInMemory(record),
      ...options,
    });
    return { plugin, record };
  };
  return {
    sandbox,
    loadCode,
    load: async (source, options) => loadCode(await compileServer(source), options),
    close: async () => {
      await sandbox.close();
      await outbound.close();
    },
  };
}

/** The record of a plugin that has done nothing. */
export function emptyRecord(): PlatformRecord {
  return {
    stored: new Map(),
    cached: new Map(),
    captured: [],
    lines: [],
    jobs: [],
    counted: [],
  };
}

/** A platform that records its calls. */
export function platformInMemory({
  stored,
  cached,
  captured,
  lines,
  jobs,
  counted,
}: PlatformRecord): HostServices {
  const list = (key: string) => (cached.get(key) ?? []) as unknown[];
  return {
    storage: {
      get: async (key) => stored.get(key),
      set: async (key, value) => void stored.set(key, value),
      del: async (key) => void stored.delete(key),
    },
    cache: {
      get: async (key) => cached.get(key),
      set: async (key, value) => void cached.set(key, value),
      incr: async (key, by) => {
        const value = Number(cached.get(key) ?? 0) + by;
        cached.set(key, value);
        return value;
      },
      expire: async (key) => cached.has(key),
      lpush: async (key, values) => {
        cached.set(key, [...values.toReversed(), ...list(key)]);
        return list(key).length;
      },
      lrange: async (key, first, last) =>
        list(key).slice(first, last === -1 ? undefined : last + 1),
      llen: async (key) => list(key).length,
      lrem: async (key, _count, value) => {
        const kept = list(key).filter((entry) => entry !== value);
        const removed = list(key).length - kept.length;
        cached.set(key, kept);
        return removed;
      },
      lpop: async (key, count) => list(key).splice(0, count),
    },
    capture: async (event) => void captured.push(event),
    refused: () => undefined,
    isNeeded: () => true,
    count: (values) => void counted.push(values),
    log: (level, message) => void lines.push({ level, message }),
    runJob: async (name, payload, delay_ms) => void jobs.push({ name, payload, delay_ms }),
  };
}
