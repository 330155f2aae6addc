/** A row of the table of docs/errors.md. */
export type ErrorRow = { code: string; again: string; meaning: string; cure: string };

const row = /^\| `(\w+)` \| (\w+) \| (.+?) \| (.+?) \|$/gm;

const after: Record<string, string> = {
  yes:
    'Sluice tries the run again after a pause, up to 15 attempts. To start the next attempt at ' +
    'once, press "Try now" on the page of the run, or send `POST :id/runs/:id/try_now/`. If its ' +
    'attempts are used up, the run is `FailedRetryable`: ' +
    '[retry it](pausing_exports.md#retry-a-run).',
  no:
    'Sluice does not try the run again, because only a change helps. Test the change with ' +
    '`POST :id/test/` and `{}`, which delivers nothing. Then [retry the run]' +
    '(pausing_exports.md#retry-a-run).',
  ended:
    'The run has ended, and Sluice does not try it again. You can [retry it]' +
    '(pausing_exports.md#retry-a-run).',
};

/** Reads the errors of runs. */
export function readErrors(text: string): ErrorRow[] {
  return [...text.matchAll(row)].map(([, code, again, meaning, cure]) => ({
    code: code!,
    again: again!,
    meaning: meaning!,
    cure: cure!,
  }));
}

/** Writes the page of one error as if it were a page of docs/. */
export function errorPage({ code, again, meaning, cure }: ErrorRow): string {
  return `# Error ${code}

A run has \`error_code\` \`${code}\`. Its \`latest_error\` says what happened in this case.

## Cause

${meaning}

## Cure

${cure}

## After the cure

${after[again] ?? ''}

A retry delivers what is still missing, and no row twice.

## See also

- [My export fails](failing_exports.md): the steps, in the console and by the API
- [Errors of runs](errors.md): all codes
- [The fault matrix](fault_matrix.md): the faults that we planted at each destination
- [Notices](notices.md): hear of the next failure
`;
}

/** Links each code of docs/errors.md to its page. */
export function linkErrors(text: string): string {
  return text.replaceAll(row, (line, code: string) =>
    line.replace(`\`${code}\``, `[\`${code}\`](errors/${code}.md)`),
  );
}
