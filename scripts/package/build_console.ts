/**
 * Builds the console into `console/dist` (`npm run prepare`, which `npm ci` runs as well): files
 * whose names carry their hash, each also compressed by gzip and brotli, and the page that loads
 * them. An up-to-date build of the same sources and packages stays. If the packages for the build
 * are missing (`--omit=dev`), it says so and builds nothing; the server still serves its API.
 */
import { glob, readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { root } from '../child.ts';
import { buildReference } from './build_reference.ts';
import { digestFiles, findTools, isBuiltFrom } from './built_from.ts';
import { iconModules } from './icons.ts';

const source = join(root, 'console');
const target = join(source, 'dist');
/** The smallest compressed file; a smaller one fits into one packet anyway. */
const compressed_bytes_min = 1_000;
const long_bytes_min = 2_000_000;

/** A file of the build, written last: a digest of its inputs. */
const origin_file = join(target, '.built_from');

const origin = await digestFiles(await listSources());
const isBuilt = await isBuiltFrom(origin_file, origin);
const tools = isBuilt
  ? undefined
  : await findTools(async () => ({
      build: (await import('vite')).build,
      react: (await import('@vitejs/plugin-react')).default,
    }));
if (isBuilt) console.log('The console is built from these sources already.');
else if (tools === undefined)
  console.log(
    'The console is not built: its packages are not installed. `npm ci` without --omit=dev ' +
      'installs and builds it.',
  );
else {
  const started = performance.now();
  await tools.build({
    configFile: false,
    root: source,
    // Addresses are relative to the page and the scripts, so that any base path works.
    base: './',
    logLevel: 'warn',
    plugins: [iconModules(), tools.react()],
    build: {
      outDir: target,
      emptyOutDir: true,
      manifest: true,
      target: 'es2022',
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
    },
  });
  await buildReference(source, target);
  await compressAssets(join(target, 'assets'));
  await writeFile(origin_file, origin);
  console.log(`The console is built (${((performance.now() - started) / 1000).toFixed(1)} s).`);
}

/** Lists all files of the build. The lock covers packages. */
async function listSources(): Promise<string[]> {
  const files = ['package-lock.json', 'tsconfig.json'];
  for (const name of ['build_console', 'build_reference', 'icons'])
    files.push(`scripts/package/${name}.ts`);
  const exclude = ['console/dist', 'console/**/*.test.ts'];
  for await (const file of glob('console/**/*.*', { cwd: root, exclude })) files.push(file);
  return files;
}

/** Writes `name.br` and `name.gz` beside each file that they make smaller. */
async function compressAssets(folder: string): Promise<void> {
  const names = (await readdir(folder)).filter((name) => /\.(?:js|css|svg)$/.test(name));
  await Promise.all(
    names.map(async (name) => {
      const bytes = await readFile(join(folder, name));
      if (bytes.length < compressed_bytes_min) return;
      const params = {
        [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
        // The best level takes ten seconds for the script of the reference, and saves only a tenth.
        [constants.BROTLI_PARAM_QUALITY]: bytes.length < long_bytes_min ? 11 : 9,
      };
      await Promise.all([
        promisify(brotliCompress)(bytes, { params }).then((br) =>
          writeFile(join(folder, `${name}.br`), br),
        ),
        promisify(gzip)(bytes, { level: 9 }).then((gz) =>
          writeFile(join(folder, `${name}.gz`), gz),
        ),
      ]);
    }),
  );
}
