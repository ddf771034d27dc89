/** Writes the generated part of docs/cli.md. */
import { readFile, writeFile } from 'node:fs/promises';
import { catalogue, management } from '../src/areas/index.ts';
import { checks } from '../src/areas/management/doctor-checks.ts';
import { commandReference } from '../src/cli/client/manual.ts';
import { vocabularyOf } from '../src/engine/declare/vocabulary.ts';
import { root } from './bundle.ts';

const file = `${root}/docs/cli.md`;
const [written = ''] = (await readFile(file, 'utf8')).split('\n## Options');
await writeFile(file, `${written}\n${commandReference(vocabularyOf(catalogue, management), checks)}`);
