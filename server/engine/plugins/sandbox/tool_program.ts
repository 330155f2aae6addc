import { fileURLToPath } from 'node:url';
import { build, stop } from 'esbuild';
import { moduleBeside } from '../../../platform/processes/module_beside.ts';
import { sandboxProgram } from './program.ts';
import type { SandboxProgram } from './program.ts';
import type { ToolLibrary } from './tool_library.ts';

// A process of tools holds one organization's. It starts small and is bounded; a large young
// generation would double what it takes from the machine.
const flags = ['--max-old-space-size=256', '--max-semi-space-size=4'];

/** While it reads the code of a tool it answers nothing, for seconds on a busy machine. */
const silence_ms_max = 20_000;

let child: Promise<string> | undefined;

/** The process that runs tools of the library: it may read the library's packages alone. */
export async function toolProgram({ folder, node_modules }: ToolLibrary): Promise<SandboxProgram> {
  child ??= bundle();
  const folders = [node_modules];
  return { child: await child, guest: folder, folders, flags, silence_ms_max };
}

async function bundle(): Promise<string> {
  // It stops the compiler once, for all that compile beside it.
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
