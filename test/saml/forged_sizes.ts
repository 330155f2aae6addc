import { changed } from './forgery.ts';
import type { Forgery } from './forgery.ts';

const nested = (depth: number) =>
  `<samlp:Extensions>${'<a>'.repeat(depth)}${'</a>'.repeat(depth)}</samlp:Extensions>`;

const namespaces = (count: number) =>
  Array.from({ length: count }, (_, index) => `<a xmlns:p${index}="u"/>`).join('');

/** Responses that are too deep, too long or have too many of something. */
export const forged_sizes: Forgery[] = [
  {
    name: 'elements 40 deep',
    refused: 'too_large',
    create: changed('</saml:Issuer>', `</saml:Issuer>${nested(40)}`),
  },
  {
    name: 'elements 20,000 deep',
    refused: 'too_large',
    create: changed('</saml:Issuer>', `</saml:Issuer>${nested(20_000)}`),
  },
  {
    name: 'depth behind quotes that look like an end',
    refused: 'too_large',
    create: changed(
      '</saml:Issuer>',
      `</saml:Issuer>${'<a b="/>">'.repeat(1_000)}${'</a>'.repeat(1_000)}`,
    ),
  },
  {
    name: 'more than 2,000 elements',
    refused: 'too_large',
    create: changed(
      '</saml:Issuer>',
      `</saml:Issuer><samlp:Extensions>${'<a/>'.repeat(2_000)}</samlp:Extensions>`,
    ),
  },
  {
    name: 'more than 5,000 attributes',
    refused: 'too_large',
    create: changed(
      '</saml:Issuer>',
      '</saml:Issuer><samlp:Extensions ' +
        `${Array.from({ length: 5_001 }, (_, index) => `a${index}=""`).join(' ')}/>`,
    ),
  },
  {
    name: 'more than 1,000 namespaces',
    refused: 'too_large',
    create: changed(
      '</saml:Issuer>',
      `</saml:Issuer><samlp:Extensions>${namespaces(1_000)}</samlp:Extensions>`,
    ),
  },
  {
    name: 'more than 256 KiB',
    refused: 'too_large',
    create: changed(
      '</saml:Issuer>',
      `</saml:Issuer><samlp:Extensions>${'x'.repeat(262_144)}</samlp:Extensions>`,
    ),
  },
];
