import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tellReconciled } from './backup/tell_reconciled.ts';
import { findingLine, warning } from './doctor/finding.ts';
import { terminalText } from '../platform/terminal_text.ts';
import { tellFinding } from './verify/verify.ts';

/** An export that wipes the terminal, and says of another one that it is in order. */
const hostile = 'mine\u001b[2J\u009b1A\nok       theirs\u202e';
const wanted = 'mine [2J 1A ok       theirs ';

test('no name of an export ends the line that tells of it, or reaches the terminal', () => {
  const lines: string[] = [];
  const say = (line: string) => void lines.push(line);
  const about = { name: hostile, batch_export_id: 'id', destination: 'File' };
  tellFinding(
    {
      ...about,
      deliveries: 1,
      records: 2,
      is_readable: true,
      fault: hostile,
      notes: [hostile],
      held: [],
      differences: [{ kind: 'changed', name: hostile, detail: hostile }],
    },
    say,
  );
  tellReconciled(
    [
      {
        ...about,
        team_id: 1,
        goes_on: false,
        is_waiting: true,
        detail: hostile,
        entered: { completed: 0, restarted: 0, backfills_cancelled: 0 },
        records: 0,
        lost: null,
        loose: [hostile],
        others: 0,
      },
    ],
    say,
  );
  lines.push(findingLine(warning('export', `"${hostile}" is late`)));
  assert.deepEqual(lines, [
    `UNKNOWN  ${wanted} (id, File): 1 delivery, 2 rows`,
    `  ${wanted}`,
    `  note       ${wanted}`,
    `  changed    ${wanted}: ${wanted}`,
    `WAITS  ${wanted} (id, File)`,
    `  ${wanted}`,
    '  no receipt names these files; unless another server is just writing them, they are',
    '  what a delivery had shown when everything ended, and their rows come again:',
    `    ${wanted}`,
    `warning  export: "${wanted}" is late`,
  ]);
});

test('control characters are written out, and JSON keeps its value', () => {
  const text = `one\n\ttwo ${hostile}\u007f é 👩‍💻`;
  assert.equal(
    terminalText(text),
    'one\n\ttwo mine\\u001b[2J\\u009b1A\nok       theirs\\u202e\\u007f é 👩‍💻',
  );
  assert.equal(JSON.parse(terminalText(JSON.stringify({ text }))).text, text);
});
