import type { ApiName } from './plugin_api.ts';

const kinds = [
  { kind: 'export', title: 'Functions that Sluice calls', hint: 'Export the ones that you need.' },
  { kind: 'meta', title: 'The last argument (meta)', hint: 'Every function gets it.' },
  { kind: 'global', title: 'Global names', hint: 'You can use them without an import.' },
] as const;

/** The names that a plugin may export and use, with their signatures. */
export function ApiPanel({ names }: { names: readonly ApiName[] }) {
  return kinds.map(({ kind, title, hint }) => {
    const own = names.filter((name) => name.kind === kind);
    if (own.length === 0) return undefined;
    return (
      <div key={kind} className="api_names">
        <h3>{title}</h3>
        <p className="muted">{hint} Ctrl-Space in the editor completes them.</p>
        <dl>
          {own.map(({ name, signature, meaning }) => (
            <div key={name}>
              <dt>
                <code>{name}</code> <code className="muted">{signature}</code>
              </dt>
              <dd>{meaning}</dd>
            </div>
          ))}
        </dl>
      </div>
    );
  });
}
