import type { Clock } from '../../../platform/clock.ts';
import type { Logger } from '../../../platform/log.ts';
import type { Capabilities } from '../plugin.ts';
import { PluginCallError } from './fault.ts';
import type { HostApi, HostServices } from './host_services.ts';
import { openInstance } from './instance.ts';
import type { Instance, InstanceOptions } from './instance.ts';
import { default_limits } from './limits.ts';
import type { SandboxLimits } from './limits.ts';
import { openProcessHolder } from './process_holder.ts';
import type { ProcessHolder, ProgramMaker } from './process_holder.ts';
import type { NotedFetches } from './network/noted_fetches.ts';
import type { PluginOutbound } from './network/plugin_sockets.ts';
import { openShortLived } from './short_lived.ts';
import { findToolLibrary } from './tool_library.ts';
import type { ToolLibrary } from './tool_library.ts';
import { openSemaphore } from '../../../platform/pacing/semaphore.ts';
import { parseJson } from '../../../platform/json/parse_json.ts';

// The four borders of decision 0019: the isolate (`child/isolate.ts`), its process
// (`process_holder.ts`), the server, which trusts neither (`instance.ts`), and the network, which
// is a `fetch` of the server (`plugin_fetch.ts`, `platform/outbound/outbound.ts`).

/** The parts of the sandbox; `limits` apply to plugins without limits of their own. */
export type SandboxDeps = {
  outbound: PluginOutbound;
  log: Logger;
  clock: Clock;
  /** URL of the server's own API; plugins see it. */
  public_url: string;
  /** The folder into which the operator installs the package of tools. */
  tools_dir?: string;
  limits?: Partial<SandboxLimits>;
};

/** A file that a project uploaded as a value of its plugin's config. */
export type PluginAttachment = { content_type: string; file_name: string; contents: Uint8Array };

/**
 * A plugin of a project to load. `id` names it in the log; `code` is the server part of a
 * CompiledPlugin; `fetchForPlugin` explains `allowed_hosts`.
 */
export type PluginInstance = {
  id: string;
  code: string;
  config: Record<string, unknown>;
  attachments?: Record<string, PluginAttachment>;
  allowed_hosts: string[];
  host: HostServices;
  /** Its outbound access, if it is not the sandbox's. */
  outbound?: PluginOutbound;
  limits?: Partial<SandboxLimits>;
  /** Its process, if it is not that of plugins; `opens_sockets`: its code may open connections. */
  process?: { name: string; program: ProgramMaker; opens_sockets?: boolean };
  /** Our own code, which runs in the server instead of `code`. */
  own?: (host_api: Omit<HostApi, 'signal'>) => LoadedPlugin;
};

/** The capabilities of code, by its own description. */
export type PluginInspection = {
  capabilities: Capabilities;
  metrics: Record<string, 'sum' | 'max' | 'min'>;
  public_jobs: Record<string, unknown>;
};

/** A plugin that can be called. */
export type LoadedPlugin = {
  capabilities: Capabilities;
  /**
   * Calls an exported method with a JSON value and returns its JSON result, null for none. `jobs.x`
   * is the job x; setupPlugin, getSettings and the scheduled tasks get no payload. Calls may
   * overlap. Throws a PluginCallError. If the sandbox or the instance ended meanwhile, the next
   * call loads the plugin again, with `setupPlugin`. Aborting ends the instance in the same way,
   * and rejects with the signal's reason. `noted` records the fetches of the call.
   */
  call(
    method: string,
    payload: unknown,
    signal: AbortSignal,
    noted?: NotedFetches,
  ): Promise<unknown>;
  /** Calls `teardownPlugin` if it exists, logs its faults in the plugin's log, and unloads. */
  close(): Promise<void>;
};

/** Runs the untrusted code of plugins outside this process. */
export type Sandbox = {
  /** The process in which loaded plugins run; undefined while none is loaded. */
  readonly pid: number | undefined;
  /**
   * Runs the code without calling any of its functions, in a process of its own. Throws a
   * PluginCallError.
   */
  inspect(code: string, signal: AbortSignal): Promise<PluginInspection>;
  /** Runs the code and its `setupPlugin`. Throws a PluginCallError. */
  load(instance: PluginInstance): Promise<LoadedPlugin>;
  /**
   * Does the same as `load` in a process of its own, which ends when `use` has ended or `signal`
   * aborts. Two such plugins run at a time; further ones wait. Throws a PluginCallError, or the
   * error of `use`.
   */
  loadAlone<Result>(
    instance: PluginInstance,
    signal: AbortSignal,
    use: (plugin: LoadedPlugin) => Promise<Result>,
  ): Promise<Result>;
  /** Returns the installed package of tools; undefined without it. */
  toolLibrary(): ToolLibrary | undefined;
  /** Ends all processes; calls in progress reject. */
  close(): Promise<void>;
};

type Setup = {
  config: Record<string, unknown>;
  attachments: Record<string, unknown>;
  is_inspection: boolean;
};

const nothing: Setup = { config: {}, attachments: {}, is_inspection: true };

/** Concurrent inspections of packages; further ones wait. */
const inspections_max = 2;
/** Plugins that run alone at a time. */
const alone_max = 2;

/**
 * Opens the sandbox. Processes start on demand: one for the loaded plugins, and one for each
 * package that is only inspected or tried. So a package that nobody has enabled cannot disturb
 * running ones, nor another one during its installation. A plugin gets no file, no environment, no
 * network except `fetch` to allowed hosts, and bounded time and memory.
 */
export async function openSandbox(deps: SandboxDeps): Promise<Sandbox> {
  const running = openProcessHolder(deps.log);
  const others = new Map<string, ProcessHolder>();
  const holderOf = ({ process }: PluginInstance): ProcessHolder => {
    if (process === undefined) return running;
    const held = others.get(process.name) ?? openProcessHolder(deps.log, process.program);
    others.set(process.name, held);
    return held;
  };
  const short_lived = openShortLived(deps.log);
  const permits = openSemaphore(inspections_max);
  const permits_alone = openSemaphore(alone_max);
  const limits = { ...default_limits, ...deps.limits };
  return {
    get pid() {
      return running.pid;
    },
    inspect: (code, signal) =>
      permits.run(() =>
        short_lived.use(signal, async (holder) => {
          const setup = JSON.stringify({ ...nothing, public_url: deps.public_url });
          const { inspection } = await openInstance(
            { code, setup, limits, host_api: undefined, holder },
            signal,
          );
          const { metrics, public_jobs, ...capabilities } = inspection;
          return { capabilities, metrics, public_jobs };
        }),
      ),
    load: async (instance) =>
      instance.own?.(hostApiOf(deps, instance)) ??
      openLoaded(optionsOf(deps, instance, holderOf(instance)), instance, deps.log),
    loadAlone: (instance, signal, use) =>
      permits_alone.run(async () => {
        const own = instance.own?.(hostApiOf(deps, instance));
        if (own !== undefined) return use(own);
        return short_lived.use(
          signal,
          async (holder) => {
            const plugin = await openLoaded(optionsOf(deps, instance, holder), instance, deps.log);
            const result = await use(plugin);
            await plugin.close();
            return result;
          },
          instance.process?.program,
        );
      }),
    toolLibrary: () => findToolLibrary(deps.tools_dir),
    close: async () => {
      const holders = [running, ...others.values(), short_lived];
      await Promise.all(holders.map((holder) => holder.close()));
    },
  };
}

function hostApiOf(
  deps: SandboxDeps,
  { allowed_hosts, host, outbound }: PluginInstance,
): Omit<HostApi, 'signal'> {
  return {
    host,
    outbound: outbound ?? deps.outbound,
    allowed_hosts,
    now: () => deps.clock.now(),
  };
}

function optionsOf(
  deps: SandboxDeps,
  instance: PluginInstance,
  holder: ProcessHolder,
): InstanceOptions {
  const { code, config, attachments, limits } = instance;
  const setup: Setup & { public_url: string } = {
    config,
    attachments: encodeAttachments(attachments ?? {}),
    is_inspection: false,
    public_url: deps.public_url,
  };
  return {
    code,
    setup: JSON.stringify(setup),
    limits: { ...default_limits, ...deps.limits, ...limits },
    host_api: hostApiOf(deps, instance),
    opens_sockets: instance.process?.opens_sockets === true,
    holder,
  };
}

async function openLoaded(
  options: InstanceOptions,
  { id, host }: Pick<PluginInstance, 'id' | 'host'>,
  parent: Logger,
): Promise<LoadedPlugin> {
  const log = parent.child({ plugin: id });
  // Belongs to no call: an aborted call must not stop the loading that others wait for.
  const closing = new AbortController();
  let held: Promise<Instance> | undefined;
  const current = async (): Promise<Instance> => {
    const before = held;
    const instance = await before;
    if (instance?.isGone === false) return instance;
    // Only one of several concurrent calls loads it.
    if (held === before) {
      if (instance !== undefined)
        log.info('the plugin is loaded again, because its instance has ended');
      held = openInstance(options, closing.signal);
      held.catch(() => {
        held = undefined;
      });
    }
    return held!;
  };
  const { methods, jobs, scheduled_tasks } = (await current()).inspection;
  return {
    capabilities: { methods, jobs, scheduled_tasks },
    call: async (method, payload, signal, noted) => {
      if (closing.signal.aborted) throw new Error('The plugin was closed.');
      const instance = await current();
      const result = parseJson(
        await instance.call(method, JSON.stringify(payload ?? null), signal, noted),
      );
      if (result === undefined)
        throw new PluginCallError(
          'runtime',
          `${method} returned something that cannot be read.`,
          false,
        );
      return result;
    },
    close: async () => {
      if (closing.signal.aborted) return;
      closing.abort(new Error('The plugin was closed.'));
      const instance = await held?.catch(() => undefined);
      if (instance?.isGone !== false) return;
      if (methods.includes('teardownPlugin')) {
        const teardown = instance.call('teardownPlugin', 'null', new AbortController().signal);
        await teardown.catch((error: Error) =>
          host.log('error', `teardownPlugin failed: ${error.message}`),
        );
      }
      instance.end();
    },
  };
}

function encodeAttachments(attachments: Record<string, PluginAttachment>): Record<string, unknown> {
  const entries = Object.entries(attachments).map(([key, { contents, ...rest }]) => [
    key,
    { ...rest, contents: Buffer.from(contents).toString('base64') },
  ]);
  return Object.fromEntries(entries) as Record<string, unknown>;
}
