import { pullConfiguration } from '../../api/configuration/pull.ts';
import { kinds } from '../../api/configuration/kinds/index.ts';
import { readState } from '../../api/configuration/read.ts';
import { yamlText } from '../../api/configuration/yaml_text.ts';
import type { Deps } from '../../deps.ts';

/** The configuration of an organization as text, and the secrets that it refers to. */
export type LeftConfiguration = {
  yaml: string;
  /** The variables of `yaml` with their values, as shell assignments. */
  secrets: string;
};

/** Returns the configuration of an organization, including people. The YAML has no secret. */
export async function leftConfiguration(
  deps: Deps,
  organization_id: string,
): Promise<LeftConfiguration> {
  const who = { organization_id, scopes: ['*'] };
  const pulled = await pullConfiguration(deps, deps.db, who, true);
  const { objects } = await readState(deps, deps.db, organization_id, kinds);
  const values = new Map(
    objects.flatMap((object) =>
      Object.entries(object.secrets).map(([field, value]): [string, unknown] => [
        `${object.path}.${field}`,
        value,
      ]),
    ),
  );
  const named = new Map(pulled.secrets.map(({ path, env }) => [path, env]));
  const lines = [...values].map(([path, value]) => {
    const env = named.get(path);
    return env === undefined
      ? `# ${path} = ${JSON.stringify(value)}`
      : `${env}=${shellText(String(value))}`;
  });
  return {
    yaml: yamlText(pulled.configuration),
    secrets: [
      '# Secrets of configuration.yaml. Protect this file like a password.',
      ...lines,
      '',
    ].join('\n'),
  };
}

function shellText(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
