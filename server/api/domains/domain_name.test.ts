import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { any_character, any_grapheme } from '../../../test/factories/any_character.ts';
import { inDepth } from '../../../test/depth.ts';
import { checkDomainName } from './domain_name.ts';

const exactly = (length: number) => {
  const filler = 'a'.repeat(63);
  const start = `${filler}.${filler}.${filler}.`;
  return `${start}${'b'.repeat(length - start.length - 4)}.com`;
};

const taken: [text: string, domain: string][] = [
  ['example.com', 'example.com'],
  ['  Example.COM\n', 'example.com'],
  ['example.com.', 'example.com'],
  ['a.b.c.d.example.com', 'a.b.c.d.example.com'],
  ['1e100.net', '1e100.net'],
  ['123.de', '123.de'],
  ['a.1.com', 'a.1.com'],
  ['r3---sn.example.com', 'r3---sn.example.com'],
  ['a.0xg', 'a.0xg'],
  // IDNA as browsers do it: mapped, composed, not transitional.
  ['faß.de', 'xn--fa-hia.de'],
  ['XN--FA-HIA.de', 'xn--fa-hia.de'],
  ['例え。jp', 'xn--r8jz45g.jp'],
  ['ｅxample.com', 'example.com'],
  ['a\u0301.com', 'xn--1ca.com'],
  ['☃.net', 'xn--n3h.net'],
  ['💩.la', 'xn--ls8h.la'],
  ['аррӏе.com', 'xn--80ak6aa92e.com'],
  ['exa\u00admple.com', 'example.com'],
  ['עברית1.com', 'xn--1-1hcy8a5an.com'],
  [`${'😀'.repeat(50)}.com`, `xn--e28h${'a'.repeat(49)}.com`],
  // Served inside a company, in a lab or in a test.
  ['corp.internal', 'corp.internal'],
  ['example.local', 'example.local'],
  ['company.test', 'company.test'],
  ['example.org', 'example.org'],
  // Below a public suffix, of a registry or of a host.
  ['example.co.uk', 'example.co.uk'],
  ['somebody.github.io', 'somebody.github.io'],
  ['company.com.ar', 'company.com.ar'],
  ['www.ck', 'www.ck'],
  ['facebook.com', 'facebook.com'],
  [`${'a'.repeat(63)}.com`, `${'a'.repeat(63)}.com`],
  [exactly(253), exactly(253)],
];

const refused: [text: string, detail: RegExp, code?: string][] = [
  ['', /Enter a domain/, 'blank'],
  [' \t\n', /Enter a domain/, 'blank'],
  ['example', /must have a dot/],
  ['example.', /must have a dot/],
  ['a..com', /Two dots/],
  ['.example.com', /Two dots/],
  ['example.com..', /Two dots/],
  ['.', /browser/],
  ['-a.com', /hyphen/],
  ['a-.com', /hyphen/],
  ['a.-com', /hyphen/],
  ['_dmarc.example.com', /underscore/],
  ['*.example.com', /pattern/],
  [`${'a'.repeat(64)}.com`, /63 characters/],
  [exactly(254), /253 characters/, 'max_length'],
  ['a'.repeat(1_001), /253 characters/, 'max_length'],
  ['a b.com', /spaces/],
  ['a\tb.com', /spaces/],
  ['a.com\u0000', /control/],
  ['a,b.com', /letters, digits/],
  ['ex%61mple.com', /letters, digits/],
  ["'; drop table domains; --.com", /spaces/],
  // Other things than a name.
  ['https://example.com', /https/],
  ['http://example.com:80/a?b#c', /https/],
  ['example.com/path', /https/],
  ['example.com?x', /https/],
  ['\\\\example.com', /https/],
  ['somebody@example.com', /before it/],
  ['example.com:443', /port/],
  // Addresses, in every spelling that browsers know.
  ['192.0.2.1', /IP address/],
  ['::1', /IP address/],
  ['[2001:db8::1]', /IP address/],
  ['2001:db8::1', /IP address/],
  ['１９２.0.2.1', /not a number/],
  ['１９２．０．２．１', /IP address/],
  ['192.0.2.1.', /not a number/],
  ['0x7f.1', /not a number/],
  ['0177.0.0.1', /not a number/],
  ['0xC0000201', /not a number/],
  ['3221225985', /not a number/],
  ['1.2.3', /not a number/],
  ['1.2.3.4.5', /not a number/],
  ['example.123', /not a number/],
  ['example.0x', /not a number/],
  // Scripts that IDNA refuses, and xn-- that stands for nothing.
  ['\u200d.com', /browser/],
  ['1ע.com', /browser/],
  ['a／b.com', /browser/],
  ['a＠b.com', /browser/],
  ['．', /browser/],
  ['xn--a.com', /xn--/],
  ['xn--8i7caa.com', /xn--/],
  ['a.xn--0', /xn--/],
  ['xn--abc-.com', /hyphen/],
  // Names that belong to nobody alone.
  ['localhost.localhost', /\.localhost/],
  ['facebookcorewwwi.onion', /\.onion/],
  ['1.2.0.192.in-addr.arpa', /\.arpa/],
  ['home.arpa', /\.arpa/],
  ['a.invalid', /\.invalid/],
  ['a.alt', /\.alt/],
  ['co.uk', /Under co\.uk/],
  ['github.io', /Under github\.io/],
  ['s3.amazonaws.com', /Under s3/],
  ['foo.ck', /Under foo\.ck/],
  ['公司.cn', /Under xn--55qx5d\.cn/],
  ['web.id', /Under web\.id/],
  ['gmail.com', /gmail\.com gives mailboxes/],
  ['Mail.Corp.GMail.com', /gmail\.com gives mailboxes/],
  ['googlemail.com', /mailboxes/],
  ['outlook.com', /mailboxes/],
  ['qq.com', /mailboxes/],
  ['proton.me', /mailboxes/],
  ['icloud.com', /mailboxes/],
  ['yahoo.co.uk', /mailboxes/],
  ['fastmail.com', /mailboxes/],
  ['tuta.com', /mailboxes/],
  ['acme.onmicrosoft.com', /onmicrosoft\.com gives mailboxes/],
];

for (const [text, domain] of taken)
  test(`takes ${JSON.stringify(text).slice(0, 60)}`, () =>
    assert.deepEqual(checkDomainName(text), { domain }));

for (const [text, detail, code] of refused) {
  test(`refuses ${JSON.stringify(text).slice(0, 60)}`, () => {
    const answer = checkDomainName(text);
    assert.ok('code' in answer, JSON.stringify(answer));
    assert.equal(answer.code, code ?? 'invalid_input');
    assert.match(answer.detail, detail);
  });
}

/** As `fc.webUrl()`, which builds a table of all a million characters before its first address. */
const web_address = fc
  .tuple(
    fc.constantFrom('http', 'https'),
    fc.webAuthority({ withPort: true }),
    fc.array(fc.oneof(fc.string({ maxLength: 5 }), any_character)),
    fc.constantFrom('/', '?', '#'),
  )
  .map(
    ([scheme, authority, more, between]) =>
      `${scheme}://${authority}${more.map((part) => between + encodeURIComponent(part)).join('')}`,
  );

test('an accepted name fits DNS with its challenge, and is accepted again unchanged', () => {
  const part = fc.oneof(
    fc.domain(),
    fc.string(),
    fc.string({ unit: any_grapheme }),
    web_address,
    fc.emailAddress(),
    fc.ipV4Extended(),
    fc.constantFrom('.', 'xn--', 'com', '-'),
  );
  fc.assert(
    fc.property(
      fc.array(part, { minLength: 1, maxLength: 3 }),
      fc.constantFrom('', '.'),
      (parts, between) => {
        const answer = checkDomainName(parts.join(between));
        if (!('domain' in answer)) return assert.match(answer.detail, /^[A-Z0-9a-z].*\.$/u);
        assert.match(answer.domain, /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9-]{1,63}$/);
        assert.ok(answer.domain.length <= 253);
        assert.deepEqual(checkDomainName(answer.domain), answer);
      },
    ),
    { numRuns: inDepth(250, 10_000) },
  );
});
