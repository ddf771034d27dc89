/** Reads a hand-made rsyncd.conf: the opposite of `rsyncd-conf.ts`. */
import { globalParameters, moduleParameters } from '../../areas/services/rsync-parameters.ts';
import { rsyncdSettings } from '../../areas/services/rsyncd.ts';
import { rsyncModule } from '../../areas/services/rsyncmod.ts';
import type { Adoption, NotCarried, Origin, ProposedRecord } from '../../engine/declare/proposal.ts';
import { carriedPath } from '../../engine/facts/carried-path.ts';
import type { Facts } from '../../engine/facts/facts.ts';
import { wordJoiner } from '../../lib/macros.ts';
import { words } from '../../lib/text.ts';

const main = '/etc/rsyncd.conf';

interface Line extends Origin {
  readonly text: string;
  readonly name: string;
  readonly value: string;
}

interface Section extends Origin {
  readonly module: string;
  readonly lines: readonly Line[];
}

export const rsyncdAdoption: Adoption = {
  files: [main],
  read({ files, facts }) {
    const content = files.get(main);
    if (content === undefined) return { records: [], notCarried: [] };
    const notCarried: NotCarried[] = [];
    const [global, ...modules] = sectionsOf(content, notCarried);
    const further = new Map<string, Line>();
    let port: number | undefined;
    for (const line of global?.lines ?? []) {
      if (line.name === 'port') port = Number(line.value);
      else if (line.name === 'pidfile' || ofModule.has(line.name)) continue;
      else if (globalParameters.has(line.name) || moduleParameters.has(line.name)) further.set(line.name, line);
      else notCarried.push(lost(line, 'The rsync daemon has no such parameter.', 'Nothing.'));
    }
    const records = modules.flatMap((section) => moduleRecord(section, global?.lines ?? [], { facts, notCarried }));
    const settings = {
      ...(port !== undefined && { rsyncd_port: port }),
      ...(further.size > 0 && { rsyncd_auxiliary: [...further.values()].map(({ text }) => text).join('\n') }),
    };
    return {
      records: [{ resource: rsyncdSettings.path, file: main, line: 1, values: settings }, ...records],
      notCarried,
    };
  },
};

/** Parameters that Holdfast writes for each module. In the global section they are the default of modules. */
const ofModule = new Set([
  'path',
  'comment',
  'readonly',
  'writeonly',
  'maxconnections',
  'lockfile',
  'uid',
  'gid',
  'hostsallow',
  'hostsdeny',
]);

const isYes = (value: string | undefined) => /^(?:yes|true|1)$/i.test(value ?? '');

function moduleRecord(
  { module, lines, file, line }: Section,
  global: readonly Line[],
  { facts, notCarried }: { readonly facts: Facts; readonly notCarried: NotCarried[] },
): readonly ProposedRecord[] {
  const own = (name: string) => lines.findLast((one) => one.name === name);
  const of = (name: string) => (own(name) ?? global.findLast((one) => one.name === name))?.value;
  const header = { file, line, text: `[${module}]` };
  const folder = of('path')?.replace(/\/\.?$/, '');
  const place = folder === undefined ? undefined : carriedPath(folder, facts.storage);
  if (place === undefined) {
    notCarried.push(
      lost(
        header,
        folder === undefined ? 'The module has no path.' : `${folder} is on no dataset of a pool.`,
        'Create a dataset, move the folder to it, and create the module with its path.',
      ),
    );
    return [];
  }
  if (place.toDo !== undefined)
    notCarried.push(
      lost(
        header,
        `Holdfast has its datasets below /mnt, so the file has ${place.path}.`,
        `Before the file is applied, run: ${place.toDo}`,
      ),
    );
  const isReadOnly = isYes(of('readonly') ?? 'yes');
  const isWriteOnly = isYes(of('writeonly'));
  if (isReadOnly && isWriteOnly)
    notCarried.push(
      lost(header, 'It is read only and write only.', 'The module is read only in the file: choose one.'),
    );
  const further: string[] = [];
  for (const one of lines)
    if (ofModule.has(one.name)) continue;
    else if (moduleParameters.has(one.name)) further.push(one.text);
    else
      notCarried.push({
        ...lost(one, 'It is no parameter of a module of the rsync daemon.', 'Nothing: the daemon ignores it.'),
        within: line,
      });
  const { users, groups } = facts.accounts;
  const uid = of('uid') ?? 'nobody';
  const gids = words(of('gid') ?? 'nogroup');
  const [gid = ''] = gids;
  if (gids.length > 1)
    notCarried.push({
      ...lost(header, `A module has one group in Holdfast: ${gid}.`, 'Set group to *, or nothing.'),
      within: line,
    });
  return [
    {
      ...{ resource: rsyncModule.path, file, line },
      values: {
        rsyncmod_name: module,
        rsyncmod_path: place.path,
        rsyncmod_comment: (of('comment') ?? '').replaceAll(wordJoiner, ''),
        rsyncmod_mode: isReadOnly ? 'ro' : isWriteOnly ? 'wo' : 'rw',
        rsyncmod_maxconn: Number(of('maxconnections') ?? 0),
        rsyncmod_user: users.find((user) => String(user.uid) === uid)?.name ?? uid,
        rsyncmod_group: gid === '*' ? '' : (groups.find((group) => String(group.gid) === gid)?.name ?? gid),
        rsyncmod_hostsallow: words(of('hostsallow') ?? '').join(' '),
        rsyncmod_hostsdeny: words(of('hostsdeny') ?? '').join(' '),
        ...(further.length > 0 && { rsyncmod_auxiliary: further.join('\n') }),
      },
    },
  ];
}

/** The global section and the modules. A backslash at the end continues a line. */
function sectionsOf(content: string, notCarried: NotCarried[]): readonly Section[] {
  const sections: { file: string; line: number; module: string; lines: Line[] }[] = [
    { file: main, line: 1, module: '', lines: [] },
  ];
  let begun: { line: number; text: string } | undefined;
  for (const [index, raw] of content.split('\n').entries()) {
    const part = raw.replace(/\\$/, '').trim();
    begun = begun === undefined ? { line: index + 1, text: part } : { ...begun, text: `${begun.text}${part}` };
    if (raw.endsWith('\\')) continue;
    const { line, text } = begun;
    begun = undefined;
    if (text === '' || /^[#;]/.test(text)) continue;
    const module = /^\[(.+)\]$/.exec(text)?.[1]?.trim();
    const equals = text.indexOf('=');
    if (module?.toLowerCase() === 'global')
      sections.push({ file: main, line, module: '', lines: sections[0]?.lines ?? [] });
    else if (module !== undefined) sections.push({ file: main, line, module, lines: [] });
    else if (equals < 1 || text.startsWith('&'))
      notCarried.push(
        lost(
          { file: main, line, text },
          'It includes other files, which were not read.',
          'Create their modules by hand.',
        ),
      );
    else
      sections.at(-1)?.lines.push({
        ...{ file: main, line, text },
        name: text.slice(0, equals).replaceAll(/\s/g, '').toLowerCase(),
        value: text.slice(equals + 1).trim(),
      });
  }
  return sections.filter(({ module }, index) => index === 0 || module !== '');
}

const lost = ({ file, line, text }: Origin & { readonly text: string }, reason: string, toDo: string): NotCarried => ({
  ...{ file, line, text: text.replace(/^(secrets file\s*=).*/i, '$1 …'), reason, toDo },
});
