/** Writes openapi.json from the application's routes (`npm run docs:openapi`). */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import '../require_node.mjs';
import { openApiText } from './openapi_document.ts';

const path = process.argv[2] ?? join(import.meta.dirname, '../..', 'openapi.json');
writeFileSync(path, await openApiText());
console.log(`${path} is written.`);
