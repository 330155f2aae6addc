/** Writes docs/cli.md from the commands (`npm run docs:cli`). */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import '../require_node.mjs';
import { cliText } from './cli_text.ts';

const path = join(import.meta.dirname, '../..', 'docs', 'cli.md');
writeFileSync(path, cliText());
console.log(`${path} is written.`);
