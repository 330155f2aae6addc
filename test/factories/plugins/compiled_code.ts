import { after } from 'node:test';
import { runInNewContext } from 'node:vm';
import { stop } from 'esbuild';
import { plain_manifest } from './plugin_sandbox.ts';
import type { PluginFiles } from '../../../server/engine/plugins/plugin.ts';
import { bundlePackage } from '../../../server/engine/plugins/sandbox/bundle.ts';
import type { Bundles } from '../../../server/engine/plugins/sandbox/bundle.ts';

/** Runs our own compiled server code, without a sandbox. */
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
 * Opens the exports of this file before the tests of the file that calls it, and closes them after.
 * Each test file calls it itself, because hooks of an imported module may run before its tests.
 */
export function openAroundTests(): void {
  after(() => stop());
}
