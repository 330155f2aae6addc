import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { any_character } from '../../../../test/factories/any_character.ts';
import { html } from './html.ts';
import type { Html, Part } from './html.ts';

test('text is escaped, markup stays as it is', () => {
  const cases: [Part, string][] = [
    ['plain', 'plain'],
    ['<script>alert("1")</script>', '&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;'],
    [`"'&`, '&quot;&#39;&amp;'],
    ['&amp;', '&amp;amp;'],
    [7, '7'],
    [undefined, ''],
    [html`<b>${'<i>'}</b>`, '<b>&lt;i&gt;</b>'],
    [[html`<b></b>`, html`${'&'}`], '<b></b>&amp;'],
    [[], ''],
  ];
  for (const [part, wanted] of cases) assert.equal(html`<p>${part}</p>`.text, `<p>${wanted}</p>`);
  assert.equal(html`${1}${2}`.text, '12');
});

test('text that only looks like markup is refused', () => {
  const forged = JSON.parse('{"text":"<b>"}') as Html;
  for (const part of [forged, [forged]]) assert.throws(() => html`<p>${part}</p>`, TypeError);
});

test('any text comes back as it was, and leaves neither its tag nor its quotes', () => {
  const named: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };
  const text = fc.oneof(
    fc.string({ unit: any_character }),
    fc.string({ unit: fc.constantFrom('<', '>', '"', "'", '&', ';', 'l', 't', '#', '\0') }),
  );
  fc.assert(
    fc.property(text, (written) => {
      const [, inner = ''] = /^<p title="(.*)">/s.exec(html`<p title="${written}">`.text) ?? [];
      assert.doesNotMatch(inner, /[<>"']/);
      assert.equal(
        inner.replaceAll(/&([^;]*);/g, (_whole, name: string) => named[name] ?? assert.fail(name)),
        written,
      );
    }),
  );
});
