import type { Pair } from './steps.ts';
import type { Need, Note } from './schema.ts';

/**
 * What to look at before it is applied. A `was` may stay in the files after its move: where neither
 * key stands it moved nothing. What two configurations name goes to whoever applies last.
 */
export function notesOf({ wanted, standing }: Pair, source: string): Note[] {
  const { kind, path, was, secrets, is_reference } = wanted;
  const other = standing?.managed?.source;
  const taken_over: Note[] =
    is_reference || other === undefined || other === source
      ? []
      : [{ code: 'taken_over', kind: kind.name, path, detail: takenOverDetail(kind.name, other) }];
  const moved_nothing: Note[] =
    was === undefined || standing !== undefined
      ? []
      : [
          {
            code: 'was_not_found',
            kind: kind.name,
            path: `${path}.was`,
            detail: `Nothing here has the key ${was}, so a new object is created: check it.`,
          },
        ];
  const plain = Object.entries(secrets).flatMap(([field, secret]): Note[] =>
    'value' in secret && secret.is_plain === true
      ? [
          {
            code: 'plain_secret',
            kind: kind.name,
            path: `${path}.${field}`,
            detail:
              'This is a secret in plain text, which whoever reads the file has: write ' +
              '{ env: NAME } or { file: path } in its place.',
          },
        ]
      : [],
  );
  return [...moved_nothing, ...taken_over, ...plain];
}

function takenOverDetail(kind: string, other: string): string {
  const stays =
    kind === 'project'
      ? 'name its sections alone here, without its own fields.'
      : 'take it out of these files; its key can still be referred to.';
  const taken = `The configuration ${other} manages this, and this one takes it over.`;
  return `${taken} To leave it: ${stays}`;
}

/** The secrets that are missing: nothing can be applied without them. */
export function needsOf({ wanted, standing }: Pair): Need[] {
  return Object.entries(wanted.secrets).flatMap(([field, secret]): Need[] => {
    if ('value' in secret) return [];
    const isKept = 'keep' in secret;
    if (isKept && standing?.secrets[field] !== undefined) return [];
    return [
      {
        code: 'secret',
        kind: wanted.kind.name,
        path: `${wanted.path}.${field}`,
        reference: isKept ? null : secret.reference,
        detail: isKept
          ? 'Nothing is stored that could be kept: give the secret.'
          : `The secret is not set: give what ${secret.reference} stands for.`,
      },
    ];
  });
}
