import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openLog } from './log.ts';

function logged(write: (log: ReturnType<typeof openLog>) => void): string {
  let text = '';
  write(openLog('info', 'text', { write: (line) => void (text += line) }));
  return text;
}

test('text has time, level, message and fields in one line', () => {
  const text = logged((log) => {
    log.info(
      { port: 8000, url: 'http://127.0.0.1:8000', stores: ['a b'], text: 'two words' },
      'up',
    );
    log.debug('not shown');
  });
  assert.match(text, /^\d{4}-\d\d-\d\dT[\d:.]+Z INFO  up port=8000 url=http:/);
  assert.ok(text.endsWith(' url=http://127.0.0.1:8000 stores=["a b"] text="two words"\n'), text);
});

test('an entry cannot look like two, nor move the cursor', () => {
  const text = logged((log) => log.warn({ name: 'a\nb' }, 'first\n2026 ERROR second\u001b[2J'));
  assert.equal(text.trimEnd().split('\n').length, 1);
  assert.ok(text.includes('first\\n2026 ERROR second\\u001b[2J name="a\\nb"'), text);
});

test('an error comes with its stack and its cause below the line', () => {
  const error = new Error('outer', { cause: new TypeError('inner') });
  const lines = logged((log) => log.error({ err: error }, 'failed')).split('\n');
  assert.match(lines[0]!, / ERROR failed$/);
  assert.equal(lines[1], '  Error: outer');
  assert.match(lines[2]!, /^ {6}at .*log_text\.test\.ts/);
  assert.ok(lines.includes('  caused by TypeError: inner'), lines.join('\n'));
});

test('secrets are hidden in text as in JSON', () => {
  assert.match(
    logged((log) => log.info({ given: { password: 'pass word' } }, 'in')),
    /given=\{"password":"\[hidden\]"\}/,
  );
});
