import { fileURLToPath } from 'node:url';
import { build, stop } from 'esbuild';
import { moduleBeside } from '../../../platform/processes/module_beside.ts';
import { sandboxProgram } from './program.ts';
import type { SandboxProgram } from './program.ts';
import type { ToolLibrary } from './tool_library.ts';

// A process of tools serves one organization. It starts small and is bounded: without the memory
// flags, it grows by half under load. Shared objects of all code are frozen, so that no event can
// change the events of another project.
const flags = [
  '--max-old-space-size=256',
  '--max-semi-space-size=1',
  '--optimize-for-size',
  '--frozen-intrinsics',
  '--disable-proto=delete',
  '--disable-sigusr1',
];
/** Without the first two, some destinations use their makers' test systems. */
const fixed = {
  NODE_ENV: 'production',
  ACTIONS_MEMORA_ENV: 'production',
  MALLOC_ARENA_MAX: '1',
};
const size_bytes_max = 700_000_000;

/** While it loads a tool's code, it answers nothing, for seconds on a busy machine. */
const silence_ms_max = 20_000;

let child: Promise<string> | undefined;

/**
 * Returns the program of the process that runs the library's tools: it may only read the library's
 * packages. It gets the operator's variables with the given names.
 */
export async function toolProgram(
  { folder, node_modules, variables }: ToolLibrary,
  names: string[] = [],
): Promise<SandboxProgram> {
  child ??= bundle();
  const given = names.flatMap((name) =>
    Object.hasOwn(variables, name) ? [[name, variables[name]!]] : [],
  );
  return {
    child: await child,
    guest: folder,
    folders: [node_modules],
    flags,
    environment: { ...fixed, ...Object.fromEntries(given) },
    silence_ms_max,
    size_bytes_max,
  };
}

async function bundle(): Promise<string> {
  // This stops the compiler once, for all concurrent compilations.
  await sandboxProgram();
  const { outputFiles } = await build({
    bundle: true,
    write: false,
    target: 'node24',
    logLevel: 'silent',
    tsconfigRaw: '{}',
    entryPoints: [fileURLToPath(moduleBeside(import.meta, 'tool_child/main'))],
    platform: 'node',
    format: 'cjs',
  });
  await stop();
  return outputFiles[0]!.text;
}
