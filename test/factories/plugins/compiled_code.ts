import { after } from 'node:test';
import { runInNewContext } from 'node:vm';
import { stop } from 'esbuild';
import { plain_manifest } from './plugin_sandbox.ts';
import type { PluginFiles } from '../../../server/engine/plugins/plugin.ts';
import { bundlePackage } from '../../../server/engine/plugins/sandbox/bundle.ts';
import type { Bundles } from '../../../server/engine/plugins/sandbox/bundle.ts';

/** Runs compiled server code of our own making, without a sandbox. */
export async function run(
  files: PluginFiles,
  main: string | null = null,
): Promise<Record<string, any>> {
  const bundles = await bundlePackage(files, { ...plain_manifest, main });
  const { server } = bundles as Exclude<Bundles, { fault: unknown }>;
  const module = { exports: {} };
  const require = (name: string) => {
    throw new Error(`outside: ${name}`);
  };
  runInNewContext(`(function (module, exports, require) {\n${server}\n})`)(
    module,
    module.exports,
    require,
  );
  return module.exports;
}

/**
 * Opens what this file exports before the tests of the file that calls it, and closes it after
 * them. Called by each test file itself: hooks of an imported module may run before its tests.
 */
export function openAroundTests(): void {
  after(() => stop());
}
