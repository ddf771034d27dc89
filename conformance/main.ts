/** Holds a server against the document: `npm run conformance -- --url http://nas.example.com`; without a URL, our own. */
import { parseArgs } from 'node:util';
import { runOwn } from './own.ts';
import { conforms, table } from './report.ts';
import { run } from './run.ts';

const help = `npm run conformance -- [options]

Without --url a server of our own is started on a virtual host. Otherwise the password of the account is taken from
HOLDFAST_PASSWORD; records are made on the server, and removed again.

  --url <url>       the server, as http://nas.example.com
  --user <name>     account (default: HOLDFAST_USER, or root)
  --volume <name>   volume that shares and datasets are made on (default tank); it is made when it is not there
  --disks <list>    disks that nothing uses and that may be erased, as ada1,ada2
  --nics <list>     network interfaces that nothing uses and that may be configured, as em1,em2
  --bundle <path>   a bundle on a server of Holdfast, to install a plugin from when there is none
  --disturb         also restart, shut down, update and reset the machine
`;

const { values } = parseArgs({
  options: {
    url: { type: 'string' },
    user: { type: 'string' },
    volume: { type: 'string', default: 'tank' },
    disks: { type: 'string', default: '' },
    nics: { type: 'string', default: '' },
    bundle: { type: 'string' },
    disturb: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const listOf = (words: string) => words.split(',').filter((word) => word !== '');

if (values.help) process.stdout.write(help);
else {
  const report =
    values.url === undefined
      ? await runOwn()
      : await run({
          url: values.url,
          user: values.user ?? process.env['HOLDFAST_USER'] ?? 'root',
          password: process.env['HOLDFAST_PASSWORD'] ?? '',
          volume: values.volume,
          disks: listOf(values.disks),
          nics: listOf(values.nics),
          disturb: values.disturb,
          bundle: values.bundle,
        });
  process.stdout.write(table(report));
  process.exitCode = conforms(report) ? 0 : 1;
}
