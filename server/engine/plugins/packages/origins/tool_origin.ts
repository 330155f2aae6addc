import { PluginError } from '../../plugin.ts';
import { installCommand, toolsFolder } from '../../sandbox/tool_library.ts';
import { toolUrl } from '../../tools/catalogue.ts';
import type { ToolEntry } from '../../tools/catalogue.ts';
import { describeTool } from '../../tools/describe.ts';
import {
  http_description,
  http_entry,
  http_url,
  http_version,
} from '../../tools/http_request/definition.ts';
import { toolFiles } from '../../tools/tool_files.ts';
import { assemblePackage } from '../content.ts';
import type { Origin, OriginDeps } from './origin.ts';

/**
 * The origin of a destination of the tool library. Its versions are the library's: this server has
 * the installed one.
 */
export function openToolOrigin(
  entry: ToolEntry,
  { sandbox, data_dir }: NonNullable<OriginDeps['tools']>,
): Origin {
  const library = () => {
    const found = sandbox.toolLibrary();
    if (found !== undefined) return found;
    throw new PluginError(
      'not_found',
      'This server does not have the package of tools yet. The operator installs it with ' +
        `${installCommand(toolsFolder(data_dir))}. No restart is needed.`,
    );
  };
  return {
    kind: 'tool',
    shown_url: toolUrl(entry.directory),
    findLatest: async () => library().version,
    fetch: async (tag, signal) => {
      const { version } = library();
      if (tag !== null && tag !== version)
        throw new PluginError(
          'not_found',
          `This server has version ${version} of the package of tools, not ${tag}.`,
        );
      const description = await describeTool(sandbox, library(), entry.directory, signal);
      return assemblePackage(toolFiles(entry, description, version), version);
    },
  };
}

/** The origin of the tool that comes with this server: it has the server's one version. */
export function openHttpOrigin(): Origin {
  return {
    kind: 'tool',
    shown_url: http_url,
    findLatest: async () => http_version,
    fetch: async () =>
      assemblePackage(toolFiles(http_entry, http_description, http_version), http_version),
  };
}
