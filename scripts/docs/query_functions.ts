/** Writes the function tables of docs/query_language.md (`npm run docs:query`). */
import '../require_node.mjs';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { functionTable, functions_heading } from '../../test/query_cases/functions_text.ts';

const page = fileURLToPath(new URL('../../docs/query_language.md', import.meta.url));
const [prose = ''] = readFileSync(page, 'utf8').split(`\n${functions_heading}\n`);
writeFileSync(page, `${prose}\n${functionTable()}`);
console.log(`${page} is written.`);
