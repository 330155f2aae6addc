/** Writes console/operations.ts from the application's routes (`npm run docs:operations`). */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import '../require_node.mjs';
import { withRoutes } from './openapi_document.ts';
import { operationsOf, operationsText } from './operations_text.ts';

const path = join(import.meta.dirname, '../..', 'console/operations.ts');
writeFileSync(path, await operationsText(await withRoutes(operationsOf)));
console.log(`${path} is written.`);
