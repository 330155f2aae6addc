import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve, sep } from 'node:path';

/** The npm package of tools, and the version of it that this server knows. */
export const tool_package = '@segment/action-destinations';
/** Installed together: the ranges between these packages would let in untried versions. */
const tool_packages = [`${tool_package}@3.497.0`, '@segment/actions-core@3.170.0', 'xml-js@1.6.11'];

/** The package of tools as it is installed: its version, its folder, and all that it may read. */
export type ToolLibrary = { version: string; folder: string; node_modules: string };

/** The folder into which the operator installs the package. */
export function toolsFolder(data_dir: string): string {
  return resolve(data_dir, 'tools');
}

/**
 * Finds the package in the operator's folder, or else beside the server's own packages. Looks again
 * at each call, so an installation needs no restart.
 */
export function findToolLibrary(tools_dir: string | undefined): ToolLibrary | undefined {
  const folders = [
    ...(tools_dir === undefined ? [] : [join(tools_dir, 'node_modules')]),
    ...(createRequire(import.meta.url).resolve.paths(tool_package) ?? []),
  ];
  for (const node_modules of folders) {
    const folder = join(node_modules, ...tool_package.split('/'));
    const manifest = join(folder, 'package.json');
    if (!existsSync(manifest)) continue;
    const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string };
    return { version, folder, node_modules: node_modules + sep };
  }
  return undefined;
}

/** The command that installs the package into the folder. */
export function installCommand(tools_dir: string): string {
  return `npm install --ignore-scripts --no-save --prefix ${tools_dir} ${tool_packages.join(' ')}`;
}
