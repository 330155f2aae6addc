import { settings } from '../../server/config/config.ts';

const head = `# Configuration

Every setting is an environment variable, and every one has a default: with none set, the server
runs on its own PostgreSQL and ClickHouse. A wrong value, or a \`SLUICE_\` variable that is not
listed here, stops the start with a message that names it.

## Read a secret from a file

To keep a secret out of the environment, add \`_FILE\` to the name of a setting and give the path of
a file with its value: \`SLUICE_SECRET_KEY_FILE=/run/secrets/sluice_key\`. Docker, Kubernetes and
systemd (\`LoadCredential=\`) mount such files. If both variables are set, the start stops.

## All settings

This page is written by \`npm run docs:configuration\` from \`server/config/config.ts\`; change the
text there.

| Variable | Default | Meaning |
|---|---|---|
`;

/**
 * The text of docs/configuration.md: one row for each setting, in the order in which the code has
 * them.
 */
export function configurationText(): string {
  const rows = Object.values(settings).map((setting) => {
    const value = setting.default_text === '' ? '' : `\`${setting.default_text}\``;
    const cells = [`\`${setting.variable}\``, value, setting.documentation];
    return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  });
  return `${head}${rows.join('\n')}\n`;
}
