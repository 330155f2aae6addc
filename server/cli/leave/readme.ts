import type { LeftHead } from './left_folder.ts';
import { organization_files, project_files } from './tables.ts';
import type { LinesFile } from './tables.ts';

/** The files other than JSON lines: their names, and their content. */
const configuration: [string, string] = [
  'configuration.yaml',
  'projects, exports, plugins, rules, notices, people, for `sluice config apply`',
];
const secrets: [string, string] = [
  'secrets.env',
  'the secrets of `configuration.yaml`, in plain text',
];
const row_files: [string, string][] = [
  ['events/*.parquet', 'all events; `uuid` is unique'],
  ['persons/*.parquet', 'persons with their current properties, by `person_id`'],
  ['person_distinct_ids/*.parquet', 'the person of each distinct id'],
  ['sessions/*.parquet', 'sessions, computed from the events'],
  ['groups/*.parquet', 'groups, computed from the events'],
];

/** Returns the text that explains each file, for people without Sluice. */
export function readme({ until, sluice, server }: LeftHead, with_secrets: boolean): string {
  const of_organization = [configuration, ...(with_secrets ? [secrets] : [])];
  return `# Your data, as open files

Everything that this Sluice (${sluice}) ingested before ${until}.

\`manifest.json\` lists each file with rows, bytes and SHA-256. Compare the rows after loading.

## Of each organization, in the folder of its name

${tableOf([...of_organization, ...organization_files.map(linesOf)])}

## Of each project, in \`project_<id>\`

${tableOf([...row_files, ...project_files.map(linesOf)])}

A kind without rows has no Parquet file. Files are Parquet with zstd: instants are UTC in
microseconds, properties are JSON in text.

## Not here

- Passwords, second factors, sessions and the hashes of API keys. Nobody needs them elsewhere.
- Files that exports wrote. They are at your destinations.
${with_secrets ? '' : '- Secrets of exports and tools: `sluice leave --with-secrets` adds them.\n'}
Signatures of receipts and certificates are Ed25519. The public key of the server (SPKI, DER,
base64) is ${server}
`;
}

function linesOf({ file, tells }: LinesFile): [string, string] {
  return [`${file}.jsonl`, tells];
}

function tableOf(files: [string, string][]): string {
  const rows = files.map(([file, tells]) => `| \`${file}\` | ${tells} |`);
  return ['| file | contents |', '| --- | --- |', ...rows].join('\n');
}
