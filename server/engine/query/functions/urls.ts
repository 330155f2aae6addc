import { readFunctions } from './definition.ts';
import type { FunctionTopic } from './definition.ts';

/** URLs and hashes. */
export const urls: FunctionTopic = {
  title: 'Addresses and hashes',
  note:
    'Raw hashes are bytes: write `hex(MD5(x))`. Hashes of 64 bits have no sign and are exported ' +
    'as text; a bucket of one is `toInt64(cityHash64(x) % 100)`.',
  functions: readFunctions(`
    protocol(text) -> text   e.g. protocol('https://a.b/c')
      Protocol of a URL
    domain(text) -> text   e.g. domain('https://www.a.b/c')
      Host of a URL
    domainWithoutWWW(text) -> text   e.g. domainWithoutWWW('https://www.a.b/c')
      Host without www
    topLevelDomain(text) -> text   e.g. topLevelDomain('https://a.b/c')
      Last label of the host
    firstSignificantSubdomain(text) -> text
      e.g. firstSignificantSubdomain('https://news.example.com/')
      Name of the site
    cutToFirstSignificantSubdomain(text) -> text
      e.g. cutToFirstSignificantSubdomain('https://news.example.com/')
      Name of the site with what follows
    port(text) -> integer   e.g. port('https://a.b:8080/')
      Port of a URL, 0 without one
    path(text) -> text   e.g. path('https://a.b/c?d=e')
      Path of a URL
    pathFull(text) -> text   e.g. pathFull('https://a.b/c?d=e')
      Path, query and fragment
    queryString(text) -> text   e.g. queryString('https://a.b/c?d=e')
      Query of a URL
    fragment(text) -> text   e.g. fragment('https://a.b/c#d')
      Fragment of a URL
    extractURLParameter(text, #text) -> text   e.g. extractURLParameter('https://a.b/?d=e', 'd')
      Value of a parameter, empty without one
    extractURLParameters(text) -> [text]   e.g. extractURLParameters('https://a.b/?d=e')
      Parameters with values
    extractURLParameterNames(text) -> [text]   e.g. extractURLParameterNames('https://a.b/?d=e')
      Names of the parameters
    cutQueryString(text) -> text   e.g. cutQueryString('https://a.b/?d=e')
      Without the query
    cutFragment(text) -> text   e.g. cutFragment('https://a.b/#d')
      Without the fragment
    cutQueryStringAndFragment(text) -> text   e.g. cutQueryStringAndFragment('https://a.b/?d=e#f')
      Without both
    cutURLParameter(text, #text) -> text   e.g. cutURLParameter('https://a.b/?d=e&f=g', 'd')
      Without one parameter
    cutWWW(text) -> text   e.g. cutWWW('https://www.a.b/')
      Without www
    decodeURLComponent(text) -> text   e.g. decodeURLComponent('a%20b')
      Percent signs resolved
    encodeURLComponent(text) -> text   e.g. encodeURLComponent('a b')
      With percent signs
    decodeXMLComponent(text) -> text   e.g. decodeXMLComponent('a&amp;b')
      Entities of XML resolved
    extractTextFromHTML(text) -> text   e.g. extractTextFromHTML('<b>a</b>')
      Text without tags
    isIPv4String(text) -> boolean   e.g. isIPv4String('127.0.0.1')
      True for an IPv4 address
    isIPv6String(text) -> boolean   e.g. isIPv6String('::1')
      True for an IPv6 address
    exact cityHash64(any, any...) -> unsigned   e.g. cityHash64(distinct_id)
      Fast hash of 64 bits
    exact sipHash64(any, any...) -> unsigned   e.g. sipHash64(distinct_id)
      Keyed hash of 64 bits
    exact xxHash64(any, any...) -> unsigned   e.g. xxHash64(distinct_id)
      Fast hash of 64 bits
    exact farmHash64(any, any...) -> unsigned   e.g. farmHash64(distinct_id)
      Fast hash of 64 bits
    exact murmurHash3_64(any, any...) -> unsigned   e.g. murmurHash3_64(distinct_id)
      Hash of 64 bits
    MD5(text) -> bytes   e.g. hex(MD5(distinct_id))
      Hash of 16 bytes
    SHA1(text) -> bytes   e.g. hex(SHA1(distinct_id))
      Hash of 20 bytes
    SHA224(text) -> bytes   e.g. hex(SHA224(distinct_id))
      Hash of 28 bytes
    SHA256(text) -> bytes   e.g. lower(hex(SHA256(distinct_id)))
      Hash of 32 bytes
    SHA512(text) -> bytes   e.g. hex(SHA512(distinct_id))
      Hash of 64 bytes
  `),
};
