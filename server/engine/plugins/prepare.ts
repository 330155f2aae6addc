import { readManifest } from './packages/manifest.ts';
import { contentSha256 } from './packages/content.ts';
import { storableFault } from './packages/storable.ts';
import { PluginError } from './plugin.ts';
import type { Capabilities, PluginCollection, PluginFiles, PluginManifest } from './plugin.ts';
import { compilePlugin } from './sandbox/compile.ts';
import type { CompiledPlugin } from './sandbox/compile.ts';
import type { PluginInspection, Sandbox } from './sandbox/sandbox.ts';
import { toolCode, toolOf } from './tools/tool.ts';
import type { ToolDefinition } from './tools/tool.ts';

/**
 * A compiled and inspected package: all parts of a version. `manifest` is null for source without a
 * plugin.json.
 */
export type PreparedPlugin = {
  tag: string | null;
  files: PluginFiles;
  content_sha256: string;
  manifest: PluginManifest | null;
  code: CompiledPlugin;
  capabilities: Capabilities;
  metrics: Record<string, string>;
  public_jobs: Record<string, unknown>;
};

/** A last limit, longer than the sandbox lets any code run. */
const inspect_ms_max = 60_000;

/** Capabilities of a package without server code. */
const no_capabilities: Capabilities = { methods: [], jobs: [], scheduled_tasks: [] };

const without_manifest: PluginManifest = {
  name: 'plugin',
  description: null,
  icon: null,
  url: null,
  version: null,
  main: null,
  config_schema: [],
  fields: [],
  public_jobs: {},
};

/** The compiled code of a package, and the code's own description. */
type Looked = { code: CompiledPlugin; seen: PluginInspection };

/**
 * Each sandbox's last results, by content: a trial follows a dry run, and an apply follows a plan.
 */
const looked = new WeakMap<Pick<Sandbox, 'inspect'>, Map<string, Looked>>();
const looked_max = 16;
/** Most characters of cached code; the size of its description is bounded by the record. */
const looked_code_length_max = 1024 * 1024;

/**
 * Compiles files and asks the sandbox for their capabilities; calls nothing of the plugin and
 * stores nothing. Throws a PluginError with file, line and column for code that does not compile or
 * fails while it is loaded. If plugin.json and the code both name a public job, plugin.json's wins.
 * The last 16 packages of a sandbox are cached, unless their code is large; failed ones are not.
 * `compile` is only for our own code: a separate process compiles foreign code.
 */
export async function preparePlugin(
  files: PluginFiles,
  tag: string | null,
  sandbox: Pick<Sandbox, 'inspect'>,
  compile = compilePlugin,
): Promise<PreparedPlugin> {
  const manifest = files['plugin.json'] === undefined ? null : readManifest(files);
  const content_sha256 = contentSha256(files);
  const tool = toolOf(files);
  if (tool !== undefined) return preparedTool(files, tag, content_sha256, manifest, tool);
  const { code, seen } =
    looked.get(sandbox)?.get(content_sha256) ?? (await lookAt(files, manifest, sandbox, compile));
  checkStorable({ ...seen.capabilities, metrics: seen.metrics, publicJobs: seen.public_jobs });
  keep(sandbox, content_sha256, { code, seen });
  return {
    tag,
    files,
    content_sha256,
    manifest,
    code,
    capabilities: seen.capabilities,
    metrics: seen.metrics,
    public_jobs: { ...seen.public_jobs, ...manifest?.public_jobs },
  };
}

/** A tool needs no compilation: its process loads the library's code. */
function preparedTool(
  files: PluginFiles,
  tag: string | null,
  content_sha256: string,
  manifest: PluginManifest | null,
  { directory }: ToolDefinition,
): PreparedPlugin {
  const public_jobs = manifest?.public_jobs ?? {};
  return {
    tag,
    files,
    content_sha256,
    manifest,
    code: { server: toolCode(directory), site: null, frontend: null },
    capabilities: { methods: ['onEvent'], jobs: [], scheduled_tasks: [] },
    metrics: { delivered: 'sum', retried: 'sum', sent_again: 'sum', set_aside: 'sum' },
    public_jobs,
  };
}

async function lookAt(
  files: PluginFiles,
  manifest: PluginManifest | null,
  sandbox: Pick<Sandbox, 'inspect'>,
  compile: typeof compilePlugin,
): Promise<Looked> {
  const code = await compile(files, manifest ?? without_manifest);
  const seen =
    code.server === null
      ? { capabilities: no_capabilities, metrics: {}, public_jobs: {} }
      : await sandbox.inspect(code.server, AbortSignal.timeout(inspect_ms_max));
  return { code, seen };
}

/** Caches the result as the newest and evicts the oldest. */
function keep(sandbox: Pick<Sandbox, 'inspect'>, content_sha256: string, one: Looked): void {
  const { server, site, frontend } = one.code;
  const length = [server, site, frontend].reduce((sum, part) => sum + (part?.length ?? 0), 0);
  if (length > looked_code_length_max) return;
  const all = looked.get(sandbox) ?? new Map<string, Looked>();
  looked.set(sandbox, all);
  all.delete(content_sha256);
  all.set(content_sha256, one);
  const [oldest] = all.keys();
  if (all.size > looked_max) all.delete(oldest!);
}

/** Throws a PluginError for names and values of the code that the record could not store. */
function checkStorable(exported: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(exported)) {
    const fault = storableFault(value);
    if (fault !== undefined)
      throw new PluginError(
        'invalid',
        `The exports of the code cannot be stored: ${name} ${fault}.`,
      );
  }
}

const destination_methods = ['onEvent', 'exportEvents', 'composeWebhook'];
const import_tasks = ['runEveryMinute', 'runEveryHour', 'runEveryDay'];

/**
 * Returns why code cannot serve a collection, as a sentence that says what is missing; undefined:
 * it can.
 */
export function serviceFault(
  collection: PluginCollection,
  { code, capabilities }: Pick<PreparedPlugin, 'code' | 'capabilities'>,
): string | undefined {
  const has = (names: string[], wanted: string[]) => names.some((name) => wanted.includes(name));
  if (collection === 'pipeline_destinations')
    return has(capabilities.methods, destination_methods)
      ? undefined
      : 'A destination must export onEvent, exportEvents or composeWebhook.' +
          (has(capabilities.methods, ['processEvent'])
            ? ' Stored events stay unchanged: only these destinations get the results of ' +
              'processEvent.'
            : '');
  if (collection === 'pipeline_import_apps')
    return has(capabilities.scheduled_tasks, import_tasks)
      ? undefined
      : 'An import app must export runEveryMinute, runEveryHour or runEveryDay.';
  return code.site === null && code.frontend === null
    ? 'A frontend app must have a site.ts or a frontend.tsx.'
    : undefined;
}
