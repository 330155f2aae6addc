import type { ToolMapping } from '../../../server/api/plugins/schema.ts';

/** Returns the hosts of addresses in mappings: a tool cannot send to others. */
export function mappedHosts(mappings: readonly ToolMapping[]): string[] {
  const hosts = mappings.flatMap(({ mapping }) =>
    Object.entries(mapping).flatMap(([key, value]) =>
      /^(?:url|endpoint|webhook_?url)$/i.test(key) ? hostOf(value) : [],
    ),
  );
  return [...new Set(hosts)];
}

/** Returns the host of a text or a template; none if the event decides. */
function hostOf(value: unknown): string[] {
  const template = (value as { '@template'?: unknown } | null)?.['@template'];
  const text = typeof value === 'string' ? value : template;
  const [, host] = typeof text === 'string' ? (/^https?:\/\/([^/?#]*)/i.exec(text) ?? []) : [];
  const name = host === undefined ? undefined : URL.parse(`https://${host}/`)?.hostname;
  // A partly typed name does not count.
  return name !== undefined && !host!.includes('{') && /\.\w{2,}$|^\[|^localhost$|\d$/.test(name)
    ? [name]
    : [];
}
