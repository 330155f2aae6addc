import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from './source_files.ts';

const page = readFileSync(join(root, 'docs/security.md'), 'utf8');

/**
 * The number of requirements of levels 1 and 2 in each section of OWASP ASVS 5.0. They are the
 * first of their section; those of level 3 follow them.
 */
const sections = [
  '1.1: 2, 1.2: 9, 1.3: 11, 1.4: 3, 1.5: 2, 2.1: 3, 2.2: 3, 2.3: 4, 2.4: 1',
  '3.2: 2, 3.3: 4, 3.4: 6, 3.5: 5, 3.7: 2, 4.1: 3, 4.2: 1, 4.3: 2, 4.4: 4',
  '5.1: 1, 5.2: 3, 5.3: 2, 5.4: 3',
  '6.1: 3, 6.2: 12, 6.3: 4, 6.4: 4, 6.5: 5, 6.6: 3, 6.8: 4',
  '7.1: 3, 7.2: 4, 7.3: 2, 7.4: 5, 7.5: 2, 7.6: 2, 8.1: 2, 8.2: 3, 8.3: 1, 8.4: 1',
  '9.1: 3, 9.2: 4, 10.1: 2, 10.2: 2, 10.3: 4, 10.4: 11, 10.5: 5, 10.6: 2, 10.7: 3',
  '11.1: 2, 11.2: 3, 11.3: 3, 11.4: 4, 11.5: 1, 11.6: 1, 12.1: 3, 12.2: 2, 12.3: 4',
  '13.1: 1, 13.2: 5, 13.3: 2, 13.4: 5, 14.1: 2, 14.2: 4, 14.3: 3',
  '15.1: 3, 15.2: 3, 15.3: 7, 16.1: 1, 16.2: 5, 16.3: 4, 16.4: 3, 16.5: 3',
  '17.1: 1, 17.2: 4, 17.3: 2',
].flatMap((line) => line.split(', ').map((section) => section.split(': ')));
const requirements = sections.flatMap(([section, count]) =>
  Array.from({ length: Number(count) }, (_, index) => `${section}.${index + 1}`),
);
const verdicts = ['holds', 'partly', 'does not hold', 'not applicable', 'not looked at'];

type Row = { requirement: string; what: string; verdict: string; proof: string };

function rowsOf(text: string): Row[] {
  return [...text.matchAll(/^\| (\d+\.\d+\.\d+) \|(.*)$/gm)].map(([, requirement, rest]) => {
    const [what = '', verdict = '', proof = '', ...more] = rest!.split('|').map((c) => c.trim());
    // The end of the line is an empty cell.
    return { requirement: requirement!, what, verdict, proof: [proof, ...more].join('') };
  });
}

const pathsIn = (text: string) =>
  [...text.matchAll(/`((?:console|server|test|scripts|docs)\/[^`\s]+)`/g)].map(([, path]) => path!);

/** Lists the faults of a row, each as a sentence. */
function faultsOf({ requirement, what, verdict, proof }: Row): string[] {
  const sentence = proof.replaceAll(/`[^`]*\/[^`]*`|\[[^\]]*\]\([^)]*\)|[\s,:]/g, '');
  const hasSource = pathsIn(proof).length > 0 || /\]\([^)]+\)/.test(proof);
  const isTold = /\p{L}{3,}/u.test(sentence) && proof.endsWith('.');
  return [
    what === '' && 'has no short name',
    !verdicts.includes(verdict) && `has the verdict "${verdict}"`,
    !hasSource && !isTold && 'has neither a test nor a page nor a sentence',
    verdict !== 'holds' && !isTold && `is "${verdict}" without a sentence that says why`,
    ...pathsIn(proof)
      .filter((path) => !existsSync(join(root, path)))
      .map((path) => `names ${path}, which is not there`),
  ]
    .filter((fault) => fault !== false)
    .map((fault) => `${requirement} ${fault}.`);
}

test('docs/security.md has each requirement of ASVS 5.0, levels 1 and 2, once and in order', () => {
  assert.equal(requirements.length, 253);
  assert.deepEqual(
    rowsOf(page).map(({ requirement }) => requirement),
    requirements,
  );
});

test('each has a verdict of the list, and a test, a page or a sentence that exists', () => {
  assert.deepEqual(rowsOf(page).flatMap(faultsOf), []);
  for (const verdict of verdicts) {
    const count = rowsOf(page).filter((row) => row.verdict === verdict).length;
    assert.ok(page.includes(`\n- **${verdict}** (${count})`), `${verdict}: ${count} rows`);
  }
});

test('every file that the page names in full is there', () => {
  assert.ok(pathsIn(page).length > 100);
  assert.deepEqual(
    pathsIn(page).filter((path) => !existsSync(join(root, path))),
    [],
  );
});

test('README.md and the policy lead to the page', () => {
  for (const name of ['README.md', 'SECURITY.md'])
    assert.ok(readFileSync(join(root, name), 'utf8').includes('(docs/security.md)'), name);
});

test('the rule itself: what a row is told', () => {
  const faults = (row: string) => rowsOf(`| 1.1.1 | ${row} |`).flatMap(faultsOf);
  const here = '`test/house/security_page.test.ts`';
  assert.deepEqual(faults(`a name | holds | ${here}`), []);
  assert.deepEqual(faults('a name | holds | [a page](api.md)'), []);
  assert.deepEqual(faults('a name | partly | Half of it.'), []);
  assert.equal(faults(`a name | partly | ${here}`).length, 1);
  assert.equal(faults('a name | holds | `test/house/gone.test.ts`').length, 1);
  assert.equal(faults(' | mostly | ').length, 4);
});
