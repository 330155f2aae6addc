import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve, sep } from 'node:path';
import { parseEnv } from 'node:util';

/** The npm package of tools, and the supported version. */
export const tool_package = '@segment/action-destinations';
/** The operator's variables for tools, as in an .env file. */
const variables_file = 'variables.env';
/** Installed together: the ranges between these packages would allow untested versions. */
const tool_packages = [`${tool_package}@3.497.0`, '@segment/actions-core@3.170.0', 'xml-js@1.6.11'];

/**
 * The installed package of tools: its version, its folder, all folders that it may read, and the
 * operator's variables for tools that need some.
 */
export type ToolLibrary = {
  version: string;
  folder: string;
  node_modules: string;
  variables: Partial<Record<string, string>>;
};

/** Returns the folder into which the operator installs the package. */
export function toolsFolder(data_dir: string): string {
  return resolve(data_dir, 'tools');
}

/**
 * Finds the package in the operator's folder, or else beside the server's own packages. Searches at
 * each call, so an installation needs no restart.
 */
export function findToolLibrary(tools_dir: string | undefined): ToolLibrary | undefined {
  const folders = [
    ...(tools_dir === undefined ? [] : [join(tools_dir, 'node_modules')]),
    ...(createRequire(import.meta.url).resolve.paths(tool_package) ?? []),
  ];
  for (const place of folders) {
    if (!existsSync(join(place, tool_package, 'package.json'))) continue;
    // The process may read everything below this folder, so a link must be resolved.
    const node_modules = realpathSync(place);
    const folder = join(node_modules, ...tool_package.split('/'));
    const manifest = join(folder, 'package.json');
    const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string };
    const variables = readVariables(tools_dir);
    return { version, folder, node_modules: node_modules + sep, variables };
  }
  return undefined;
}

/** Reads the file of variables beside the package; empty without the file. */
function readVariables(tools_dir: string | undefined): ToolLibrary['variables'] {
  const file = tools_dir === undefined ? undefined : join(tools_dir, variables_file);
  return file !== undefined && existsSync(file) ? parseEnv(readFileSync(file, 'utf8')) : {};
}

/** Returns the command that installs the package into the folder. */
export function installCommand(tools_dir: string): string {
  return `npm install --ignore-scripts --no-save --prefix ${tools_dir} ${tool_packages.join(' ')}`;
}
