import assert from 'node:assert/strict';
import { test } from 'node:test';
import { giveElements, readElements } from './elements.ts';

const cases: [string, unknown[]][] = [
  ['', []],
  ['a', [{ tag_name: 'a' }]],
  ['a.b.c', [{ tag_name: 'a', attr_class: ['b', 'c'] }]],
  ['.b', [{ attr_class: ['b'] }]],
  ['a:', [{ tag_name: 'a:' }]],
  ['a:href="/x"', [{ tag_name: 'a', href: '/x' }]],
  ['a.md:flex:text="a;b"', [{ tag_name: 'a', attr_class: ['md:flex'], text: 'a;b' }]],
  ['a:text="say \\"hi\\""x="1"', [{ tag_name: 'a', text: 'say "hi"', attributes: { x: '1' } }]],
  ['a:nth-child="2"nth-of-type="3"', [{ tag_name: 'a', nth_child: 2, nth_of_type: 3 }]],
  ['a:attr_id="me"__proto__="x"', [{ tag_name: 'a', attr_id: 'me', own: ['__proto__'] }]],
  ['a;\nb:text="open', [{ tag_name: 'a' }, { tag_name: 'b', text: 'open' }]],
  ['a:text=""', [{ tag_name: 'a', text: '' }]],
  ['a:text="\\', [{ tag_name: 'a', text: '\\' }]],
];

test('an elements_chain is read into elements, however broken it is', () => {
  for (const [chain, expected] of cases)
    assert.deepEqual(
      readElements(chain).map(({ attributes, ...rest }) => ({ ...rest, attributes })),
      expected.map((one, order) => {
        const { own, attributes = {}, ...rest } = one as Record<string, any>;
        const named = own === undefined ? attributes : JSON.parse('{"__proto__": "x"}');
        return { ...rest, order, attributes: named };
      }),
      chain,
    );
});

test('a hostile chain is read once, and only so far', () => {
  assert.equal(readElements('a;'.repeat(100_000)).length, 500);
  assert.equal(readElements('"'.repeat(100_001)).length, 1);
  assert.equal(readElements(`a:${'x="y"'.repeat(50_000)}`).length, 1);
});

test('events get elements that are no key of theirs, and may be overwritten', () => {
  const event = { elements_chain: 'a;b' } as { elements_chain: string; elements?: unknown };
  giveElements([event, null, { elements_chain: 5 }]);
  assert.equal(JSON.stringify(event), '{"elements_chain":"a;b"}');
  assert.deepEqual(event.elements, readElements('a;b'));
  assert.equal(event.elements, event.elements);
  event.elements = 'own';
  assert.equal(event.elements, 'own');
  const own = { elements_chain: 'a', elements: 1 };
  giveElements(own);
  assert.equal(own.elements, 1);
});
