import { claiming, writing } from './forgery.ts';
import type { Forgery } from './forgery.ts';

const soap = 'http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress';
const email = (value: string) => claiming({ attributes: { email: value } });

/** Forgeries from the right provider with no address, several, or one that it may not use. */
export const forged_addresses: Forgery[] = [
  {
    name: 'no e-mail address',
    refused: 'email_missing',
    create: claiming({
      attributes: { first_name: 'Ada' },
      name_id: 'ada',
      name_id_format: 'urn:x',
    }),
  },
  {
    name: 'an address in a NameID of no format',
    refused: 'email_missing',
    create: claiming({
      attributes: {},
      name_id_format: 'urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified',
    }),
  },
  {
    name: 'two addresses in one attribute',
    refused: 'email_ambiguous',
    create: claiming({ attributes: { email: ['ada@acme.example', 'root@acme.example'] } }),
  },
  {
    name: 'two addresses in two attributes',
    refused: 'email_ambiguous',
    create: claiming({ attributes: { email: 'ada@acme.example', [soap]: 'root@acme.example' } }),
  },
  {
    name: 'two attributes of the same name',
    refused: 'email_ambiguous',
    create: writing(
      '</saml:AttributeStatement>',
      '<saml:Attribute Name="email"><saml:AttributeValue>root@acme.example' +
        '</saml:AttributeValue></saml:Attribute></saml:AttributeStatement>',
    ),
  },
  {
    name: 'an address of another domain',
    refused: 'email_domain',
    create: email('ada@other.example'),
  },
  {
    name: 'an address of a domain below ours',
    refused: 'email_domain',
    create: email('ada@mail.acme.example'),
  },
  {
    name: 'an address whose domain ends like ours',
    refused: 'email_domain',
    create: email('ada@evilacme.example'),
  },
  {
    name: 'an address of a domain that begins like ours',
    refused: 'email_domain',
    create: email('ada@acme.example.evil.example'),
  },
  {
    name: 'an address with two @',
    refused: 'email_invalid',
    create: email('ada@evil.example@acme.example'),
  },
  { name: 'an address without a name', refused: 'email_invalid', create: email('@acme.example') },
  {
    name: 'an address with a full-width @',
    refused: 'email_invalid',
    create: email('ada\uff20acme.example'),
  },
  {
    name: 'an address with a Kelvin sign for a k',
    refused: 'email_invalid',
    create: email('\u212aay@acme.example'),
  },
  {
    name: 'an address with a Cyrillic letter',
    refused: 'email_invalid',
    create: email('\u0430da@acme.example'),
  },
  {
    name: 'an address with a line break',
    refused: 'email_invalid',
    create: email('ada@acme.example\nroot@acme.example'),
  },
  {
    name: 'an address with a space in it',
    refused: 'email_invalid',
    create: email('ada @acme.example'),
  },
  {
    name: 'an address with a zero-width space',
    refused: 'email_invalid',
    create: email('ada\u200b@acme.example'),
  },
  {
    name: 'an address with a name around it',
    refused: 'email_invalid',
    create: email('Ada <ada@acme.example>'),
  },
  {
    name: 'two addresses in one value',
    refused: 'email_invalid',
    create: email('ada@acme.example,root@acme.example'),
  },
  {
    name: 'an address in quotes',
    refused: 'email_invalid',
    create: email('"root@acme.example"@acme.example'),
  },
  {
    name: 'an address of 255 characters',
    refused: 'email_invalid',
    create: email(`${'a'.repeat(242)}@acme.example`),
  },
];
