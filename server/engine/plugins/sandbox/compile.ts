import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { Type } from 'typebox';
import { dieWithParent, findProgram, ownEnvironment } from '../../../platform/embedded/programs.ts';
import { moduleBeside } from '../../../platform/processes/module_beside.ts';
import { shapeOf } from '../../../platform/shape.ts';
import { PluginError } from '../plugin.ts';
import type { PluginFiles, PluginManifest } from '../plugin.ts';
import type { Bundles } from './bundle.ts';
import { encodeFrame, openFrameReader } from './frames.ts';
import { frame_bytes_max } from './limits.ts';
import { openSemaphore } from '../../../platform/pacing/semaphore.ts';

/**
 * The compiled parts of a package; `bundlePackage` describes each text. A part that the package
 * does not have is null.
 */
export type CompiledPlugin = {
  server: string | null;
  site: string | null;
  frontend: string | null;
};

const compile_milliseconds_max = 30_000;
// Shared by all callers: each may need more than a gigabyte.
const permits = openSemaphore(2);
const memory_bytes_max = 1_500_000_000;

const Part = Type.Union([Type.String(), Type.Null()]);
const Place = Type.Optional(Type.Integer({ minimum: 0 }));
const answer = shapeOf(
  Type.Union([
    Type.Object({ server: Part, site: Part, frontend: Part }),
    Type.Object({
      fault: Type.Object({
        message: Type.String(),
        file: Type.Optional(Type.String()),
        line: Place,
        column: Place,
      }),
    }),
  ]),
);

/**
 * Compiles the package's own files: TypeScript, JSX, JSON, relative imports between them; the
 * sandbox resolves every other import. Runs nothing of the package. Throws a PluginError `compile`
 * with file, line and column of the first fault. A separate process compiles and then ends, because
 * source can be crafted to crash the compiler or exhaust memory. Two work at a time; others wait.
 */
export async function compilePlugin(
  files: PluginFiles,
  manifest: PluginManifest,
): Promise<CompiledPlugin> {
  const bundles = await permits.run(() => inProcess(files, manifest));
  if ('fault' in bundles) throw new PluginError('compile', bundles.fault.message, bundles.fault);
  return bundles;
}

function inProcess(files: PluginFiles, manifest: PluginManifest): Promise<Bundles> {
  const order = encodeOrder(files, manifest);
  const child = start();
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => end(child), compile_milliseconds_max);
    const read = openFrameReader(frame_bytes_max, (message) => {
      if (!answer.is(message)) throw new TypeError('The compiler sent an unexpected answer.');
      resolve(message);
      end(child);
    });
    child.stdout!.on('data', (chunk: Buffer) => {
      try {
        read(chunk);
      } catch (error) {
        end(child);
        reject(
          new PluginError('compile', 'The compiler answered with something that cannot be read.', {
            cause: error,
          }),
        );
      }
    });
    // A process that ends before its answer causes a broken pipe; only its end matters.
    child.stdin!.on('error', () => {});
    child.once('error', reject);
    child.once('close', () => {
      clearTimeout(late);
      // Does nothing after the answer.
      reject(
        new PluginError(
          'compile',
          'The compiler gave up on the source: make it smaller, or nest it less deeply.',
        ),
      );
    });
    child.stdin!.write(order);
  });
}

function encodeOrder(files: PluginFiles, manifest: PluginManifest): Buffer {
  try {
    return encodeFrame({ files, manifest }, frame_bytes_max);
  } catch (error) {
    throw new PluginError(
      'compile',
      `The package's texts are too long to compile: the limit is ` +
        `${frame_bytes_max / 1024 / 1024} MiB.`,
      {
        cause: error,
      },
    );
  }
}

function start(): ChildProcess {
  // The limit also applies to the compiler that the process starts.
  const limiter = process.platform === 'linux' ? findProgram('prlimit') : undefined;
  const limit = limiter === undefined ? [] : [limiter, `--data=${memory_bytes_max}`];
  const [program, ...rest] = [
    ...dieWithParent('KILL'),
    ...limit,
    process.execPath,
    fileURLToPath(moduleBeside(import.meta, 'compile_process')),
  ];
  // A process group, so that the compiler below the process ends with it.
  return spawn(program, rest, {
    env: ownEnvironment(),
    stdio: ['pipe', 'pipe', 'ignore'],
    detached: true,
  });
}

function end(child: ChildProcess): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  } catch {
    // It has already ended.
  }
}
