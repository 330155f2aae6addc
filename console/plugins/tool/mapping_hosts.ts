import type { ToolMapping } from '../../../server/api/plugins/schema.ts';

/** The hosts of addresses that mappings name: a tool cannot send to others. */
export function mappedHosts(mappings: readonly ToolMapping[]): string[] {
  const hosts = mappings.flatMap(({ mapping }) =>
    Object.entries(mapping).flatMap(([key, value]) =>
      /^(?:url|endpoint|webhook_?url)$/i.test(key) ? hostOf(value) : [],
    ),
  );
  return [...new Set(hosts)];
}

/** The host of a text or a template; none where an event decides. */
function hostOf(value: unknown): string[] {
  const template = (value as { '@template'?: unknown } | null)?.['@template'];
  const text = typeof value === 'string' ? value : template;
  const [, host] = typeof text === 'string' ? (/^https?:\/\/([^/?#]*)/i.exec(text) ?? []) : [];
  const name = host === undefined ? undefined : URL.parse(`https://${host}/`)?.hostname;
  // Half a name, as it is typed, is none yet.
  return name !== undefined && !host!.includes('{') && /\.\w{2,}$|^\[|^localhost$|\d$/.test(name)
    ? [name]
    : [];
}
