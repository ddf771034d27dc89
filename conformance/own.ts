import { appliance, GiB, rootPassword } from '../test/support/appliance.ts';
import type { Report } from './report.ts';
import { run } from './run.ts';

const spareDisks = 80;
const spareNics = 80;

/** Holds our own server, on a virtual host of its own, against the document. */
export async function runOwn(): Promise<Report> {
  await using box = await appliance({ disks: Array<number>(spareDisks).fill(GiB), nics: spareNics });
  const numbered = (name: string, count: number) => Array.from({ length: count }, (_, n) => `${name}${n}`);
  return await run({
    url: box.api.url,
    user: 'root',
    password: rootPassword,
    volume: 'tank',
    disks: numbered('ada', spareDisks),
    nics: numbered('em', spareNics),
    disturb: true,
    bundle: '/usr/share/holdfast/plugins/webpage',
  });
}
