import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { any_character } from '../../../test/factories/any_character.ts';
import { compose } from './compose.ts';
import { oneLine, withoutLinks } from './plain_text.ts';

const url = 'https://sluice.example.com/invite/018f?next=/a&b=c';

const invite = () =>
  compose({
    heading: 'Join Analytical Engines',
    paragraphs: ['Ada (ada@example.com) invites you.', 'Ada wrote:'],
    quote: 'Come along!\nIt is <b>fun</b>.',
    action: { label: 'Accept', url },
    footer: 'It ends on 2 May.',
  });

test('the text form reads well and has the address in full on a line of its own', () => {
  assert.equal(
    invite().text,
    `Join Analytical Engines

Ada (ada@example.com) invites you.

Ada wrote:

> Come along!
> It is <b>fun</b>.

Accept:
${url}

It ends on 2 May.
`,
  );
});

test('the HTML form has the parts in order, the address twice, and nothing from elsewhere', () => {
  const { html } = invite();
  const escaped = url.replaceAll('&', '&amp;');
  const shown = html
    .slice(html.indexOf('<body'))
    .replace(/<br>/g, '\n')
    .replace(/<[^>]+>/g, '')
    .replace(/\n{2,}/g, '\n')
    .trim();
  assert.equal(
    shown,
    `Join Analytical Engines
Ada (ada@example.com) invites you.
Ada wrote:
Come along!
It is &lt;b&gt;fun&lt;/b&gt;.
Accept
If the button does not work, open this address:
${escaped}
It ends on 2 May.`,
  );
  assert.equal(html.split(`href="${escaped}"`).length, 3);
  assert.match(html, /<html lang="en">/);
  assert.match(html, /<meta name="color-scheme" content="light dark">/);
  assert.match(html, /<title>Join Analytical Engines<\/title>/);
  assert.doesNotMatch(html, /<(img|script|link|style|iframe|form)|src=|url\(|@import|http-equiv/i);
});

test('parts that are not given leave nothing behind', () => {
  const { text, html } = compose({ heading: 'Done', paragraphs: [] });
  assert.equal(text, 'Done\n');
  assert.doesNotMatch(html, /<(a|blockquote|p) |undefined/);
});

const tagsOf = (html: string) => (html.match(/<[^>]*>|>/g) ?? []).filter((tag) => tag !== '<br>');

test('no text of anyone adds to the HTML or takes from it', () => {
  const content = (text: string) => ({
    heading: text,
    paragraphs: [text, text],
    quote: text,
    action: { label: text, url },
    footer: text,
  });
  const hostile = fc.oneof(
    fc.string({ unit: any_character }),
    fc
      .array(
        fc.constantFrom(
          '<script>alert(1)</script>',
          '"',
          "'",
          '<',
          '>',
          '&',
          '&lt;',
          ' onmouseover="x"',
          '</title>',
          '-->',
          '\r\n',
          '\0',
          '\u202e',
          '\ud800',
        ),
      )
      .map((parts) => parts.join('')),
  );
  const expected = tagsOf(compose(content('x')).html);
  fc.assert(
    fc.property(hostile, (text) => {
      const { html, text: plain } = compose(content(text));
      assert.deepEqual(tagsOf(html), expected);
      assert.doesNotMatch(html + plain, /(?!\n|\t)\p{Cc}|[\u202a-\u202e\u2066-\u2069]/u);
      assert.ok((html + plain).isWellFormed());
      assert.ok(plain.split('\n').includes(url));
    }),
  );
});

test('characters of every script stay as they are', () => {
  const text = 'Zoë — 招待 🎉 שלום 👩‍👩‍👧';
  const { html, text: plain } = compose({ heading: text, paragraphs: [text] });
  assert.equal(html.split(text).length, 4);
  assert.equal(plain.split(text).length, 3);
});

test('an action goes to http and https only, and its address cannot break out', () => {
  for (const address of [
    'javascript:alert(1)',
    'data:text/html,x',
    'ftp://example.com/secret',
    '/invite/secret',
    'mailto:a@example.com',
    '',
    'https://',
  ]) {
    assert.throws(
      () => compose({ heading: 'x', paragraphs: [], action: { label: 'x', url: address } }),
      (error) => error instanceof TypeError && !error.message.includes('secret'),
      address,
    );
  }
  const { text, html } = compose({
    heading: 'x',
    paragraphs: [],
    action: { label: 'x', url: 'HTTPS://Example.com/a b"><script>\nBcc: x' },
  });
  assert.ok(text.includes('\nhttps://example.com/a%20b%22%3E%3Cscript%3EBcc:%20x\n'));
  assert.doesNotMatch(html, /<script/);
});

test('a name in a sentence is one line and shows all that it holds', () => {
  const cases: [string, string][] = [
    ['Ada\n\nYour account is locked', 'Ada Your account is locked'],
    ['Ada\r\nB\u2028C\u0085D', 'Ada B CD'],
    ['\u202eadA\u2066', 'adA'],
    ['A\u200bd\u00ada\u0007\ufeff', 'Ada'],
    ['  Zoë\t 👩\u200d💻 ', 'Zoë 👩\u200d💻'],
  ];
  for (const [name, wanted] of cases) assert.equal(oneLine(name), wanted, JSON.stringify(name));
});

test('no subject or name has text that mail readers turn into links', () => {
  const gone = '(link removed)';
  const cases: [string, string][] = [
    ['Acme: https://evil.example/x now', `Acme: ${gone} now`],
    ['(see HTTP://evil.example)', `(see ${gone}`],
    ['Acme www.evil.example', `Acme ${gone}`],
    ['WWW\u3002evil\u3002example', gone],
    ['evil.example/x', gone],
    ['evil.\u200bexample/x', gone],
    ['пример.рф/вход', gone],
    ['evil\uff0eexample/', gone],
    ['evil.example:8080', gone],
    ['evil.example?a=1 or evil.example#b', `${gone} or ${gone}`],
    ['192.0.2.1/x', gone],
    ['a@evil.example/x', `a@${gone}`],
    ['Ada (ada@example.org) at Booking.com', 'Ada (ada@example.org) at Booking.com'],
    ['Is it acme.com? Version 1.5/2.0', 'Is it acme.com? Version 1.5/2.0'],
    ['and/or 10:30 e.g. this', 'and/or 10:30 e.g. this'],
  ];
  for (const [text, wanted] of cases) {
    assert.equal(withoutLinks(text), wanted, text);
    const { text: mail, html } = compose({ heading: text, paragraphs: [] });
    assert.equal(mail, `${wanted}\n`);
    assert.ok(html.includes(`<title>${wanted}</title>`), text);
  }
  const begun = performance.now();
  for (const piece of ['a', 'a.', '1.', 'www.', ':/', 'a:'])
    withoutLinks(piece.repeat(200_000 / piece.length));
  assert.ok(performance.now() - begun < 2_000, 'long names take long');
});
