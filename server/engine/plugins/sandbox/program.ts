import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, stop } from 'esbuild';
import type { Plugin } from 'esbuild';
import { moduleBeside } from '../../../platform/processes/module_beside.ts';

/**
 * A sandbox process. It has one text for node's standard input, the text for its start, and the
 * folders that it has to read (it runs in the first). It also has its flags for node, and its
 * environment, which is empty by default. It is killed if it does not answer for `silence_ms_max`
 * while it is watched, and if it exceeds `size_bytes_max`.
 */
export type SandboxProgram = {
  child: string;
  guest: string;
  folders: string[];
  flags: string[];
  environment?: Record<string, string>;
  silence_ms_max: number;
  size_bytes_max: number;
};

const heap_megabytes_max = 512;
const require = createRequire(import.meta.url);
let program: Promise<SandboxProgram> | undefined;

/**
 * Returns our own two programs, bundled from `child/` and `guest/`; built once. So the process
 * needs no TypeScript, no WebAssembly and none of the server's files. It can run without the
 * just-in-time compilers and with almost nothing to read.
 */
export function sandboxProgram(): Promise<SandboxProgram> {
  program ??= create();
  return program;
}

async function create(): Promise<SandboxProgram> {
  const isolated_vm = require.resolve('isolated-vm');
  const external: Plugin = {
    name: 'isolated-vm',
    setup: (steps) =>
      steps.onResolve({ filter: /^isolated-vm$/ }, () => ({ path: isolated_vm, external: true })),
  };
  const options = {
    bundle: true,
    write: false,
    target: 'node24',
    logLevel: 'silent',
    tsconfigRaw: '{}',
  } as const;
  const [child, guest] = await Promise.all([
    build({
      ...options,
      entryPoints: [fileURLToPath(moduleBeside(import.meta, 'child/main'))],
      platform: 'node',
      format: 'cjs',
      plugins: [external],
    }),
    build({
      ...options,
      entryPoints: [fileURLToPath(moduleBeside(import.meta, 'guest/runtime'))],
      platform: 'neutral',
      format: 'iife',
      globalName: 'guest',
    }),
  ]);
  // Nothing else compiles in this process.
  await stop();
  const loader = dirname(createRequire(isolated_vm).resolve('node-gyp-build/package.json'));
  return {
    child: child.outputFiles[0]!.text,
    guest: guest.outputFiles[0]!.text,
    folders: [dirname(isolated_vm), loader, '/etc/alpine-release'],
    flags: ['--jitless', `--max-old-space-size=${heap_megabytes_max}`, '--allow-addons'],
    silence_ms_max: 2_000,
    size_bytes_max: 2_000_000_000,
  };
}
