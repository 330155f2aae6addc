import { useQuery } from '@tanstack/react-query';
import type { PluginRow, ToolFile } from '../../../server/api/plugins/schema.ts';
import { sourceOf } from '../plugins.ts';
import type { Place } from '../plugins.ts';

/** Returns true for a destination of the tool library, and for the server's built-in one. */
export function isTool({ url }: Pick<PluginRow, 'url'>): boolean {
  return url !== null && /^(?:npm|sluice):/.test(url);
}

/**
 * Reads the definition of a tool. `is_read` is false while it is loading. Without a definition, the
 * plugin is no tool, or a tool of another organization.
 */
export function useTool(plugin: PluginRow, { organization_id, collection }: Place) {
  const wanted = isTool(plugin) && plugin.organization_id === organization_id;
  const { data, isPending } = useQuery({
    ...sourceOf(organization_id, collection, String(plugin.id)),
    enabled: wanted,
  });
  const text = data?.source['destination.json'];
  return {
    is_read: !wanted || !isPending,
    files: data?.source,
    tool: text === undefined ? undefined : (JSON.parse(text) as ToolFile),
  };
}
