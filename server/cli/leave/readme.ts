import type { LeftHead } from './left_folder.ts';
import { organization_files, project_files } from './tables.ts';
import type { LinesFile } from './tables.ts';

/** Returns the text that says what each file is, for people without Sluice. */
export function readme({ until, sluice, server }: LeftHead, with_secrets: boolean): string {
  return `# Your data, as open files

Everything that this Sluice (${sluice}) ingested before ${until}.

\`manifest.json\` lists each file with rows, bytes and SHA-256. Compare the rows after loading.

## Of each organization, in the folder of its name

| file | contents |
| --- | --- |
| \`configuration.yaml\` | projects, exports, connections, plugins, rules, notices, people. A new Sluice takes it: \`sluice config apply\` |
${with_secrets ? '| `secrets.env` | the secrets of `configuration.yaml`, in plain text |\n' : ''}${rowsOf(organization_files)}

## Of each project, in \`project_<id>\`

| file | contents |
| --- | --- |
| \`events/*.parquet\` | all events; \`uuid\` is unique |
| \`persons/*.parquet\` | persons with their present properties; \`person_id\` is the one of events |
| \`person_distinct_ids/*.parquet\` | which distinct id is which person |
| \`sessions/*.parquet\`, \`groups/*.parquet\` | sessions and groups, made of the events |
${rowsOf(project_files)}

A kind without rows has no Parquet file. Files are Parquet with zstd: instants are UTC in
microseconds, properties are JSON in text.

## Not here

- Passwords, second factors, sessions and the hashes of API keys. Nobody needs them elsewhere.
${with_secrets ? '' : '- Secrets of exports and tools: `sluice leave --with-secrets` adds `secrets.env`.\n'}- Files that exports wrote. They are at your destinations.

Signatures of receipts and certificates are Ed25519. The public key of the server (SPKI, DER,
base64) is ${server}
`;
}

function rowsOf(files: readonly LinesFile[]): string {
  return files.map(({ file, tells }) => `| \`${file}.jsonl\` | ${tells} |`).join('\n');
}
