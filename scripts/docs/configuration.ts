/** Writes docs/configuration.md from the settings (`npm run docs:configuration`). */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import '../require_node.mjs';
import { configurationText } from './configuration_text.ts';

const path = join(import.meta.dirname, '../..', 'docs', 'configuration.md');
writeFileSync(path, configurationText());
console.log(`${path} is written.`);
