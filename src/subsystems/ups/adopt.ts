/** Reads hand-made files of Network UPS Tools: the opposite of `nut-conf.ts`. */
import { upsSettings } from '../../areas/services/ups.ts';
import { upsEventNames } from '../../areas/system/notice.ts';
import type { Adoption, NotCarried, Origin } from '../../engine/declare/proposal.ts';
import { isLoopback, parseIp } from '../../lib/ip.ts';
import { folder } from './nut-conf.ts';

const at = (name: string) => `${folder}/${name}`;

interface Line extends Origin {
  readonly text: string;
  readonly argv: readonly string[];
}

interface Section extends Origin {
  readonly name: string;
  readonly lines: readonly Line[];
}

export const upsAdoption: Adoption = {
  files: ['nut.conf', 'ups.conf', 'upsd.conf', 'upsd.users', 'upsmon.conf', 'upssched.conf'].map(at),
  read({ files }) {
    const notCarried: NotCarried[] = [];
    const sections = (name: string) => sectionsOf(at(name), files.get(at(name)) ?? '');
    const mode = sections('nut.conf')[0]
      ?.lines.find(({ argv }) => argv[0] === 'MODE')
      ?.argv[1]?.toLowerCase();
    const monitors = (sections('upsmon.conf')[0]?.lines ?? []).filter(({ argv }) => argv[0] === 'MONITOR');
    const [, ...devices] = sections('ups.conf');
    if (monitors.length === 0 && devices.length === 0) return { records: [], notCarried };
    const [first] = monitors;
    const isSlave = devices.length === 0 || mode === 'netclient' || /^(?:slave|secondary)$/i.test(first?.argv[5] ?? '');
    const values: Record<string, unknown> = {
      ups_mode: isSlave ? 'slave' : 'master',
      // Without upssched, upsmon waits until the battery is low.
      ups_shutdown: 'lowbatt',
      ups_powerdown: false,
    };
    monitoring(sections('upsmon.conf')[0]?.lines ?? [], values, { isSlave, notCarried });
    if (!isSlave) serving({ devices, global: sections('ups.conf')[0], sections }, values, notCarried);
    for (const one of monitors.slice(1))
      notCarried.push(
        lost(
          one,
          `MONITOR ${one.argv[1] ?? ''}`,
          'Holdfast monitors one UPS.',
          'Monitor the other one by another machine.',
        ),
      );
    for (const line of sections('upssched.conf')[0]?.lines ?? [])
      if (line.argv[0] === 'AT')
        notCarried.push(
          lost(
            line,
            line.text,
            'The commands of upssched belong to its script.',
            'Set shutdown and shutdowntimer of service/ups, and emailnotify.',
          ),
        );
    const [{ file, line } = { file: at('upsmon.conf'), line: 1 }] = isSlave ? monitors : devices;
    return { records: [{ resource: upsSettings.path, file, line, values }], notCarried };
  },
};

/** The name of the UPS, the host, and the port of `ups@host:port`. */
function systemOf(text: string) {
  const [, name = '', bracketed, plain = 'localhost', port] =
    /^([^@]+)(?:@(?:\[([^\]]+)\]|([^:]+))(?::(\d+))?)?$/.exec(text) ?? [];
  return { name, host: bracketed ?? plain, port: port === undefined ? undefined : Number(port) };
}

function monitoring(
  lines: readonly Line[],
  values: Record<string, unknown>,
  { isSlave, notCarried }: { readonly isSlave: boolean; readonly notCarried: NotCarried[] },
): void {
  let isRead = false;
  for (const line of lines) {
    const [word = '', first = '', , user = '', password = ''] = line.argv;
    switch (word) {
      case 'MONITOR': {
        if (isRead) break;
        isRead = true;
        const { name, host, port } = systemOf(first);
        Object.assign(values, { ups_identifier: name, ups_monuser: user, ups_monpwd: password });
        if (port !== undefined) values['ups_remoteport'] = port;
        if (isSlave) values['ups_remotehost'] = host;
        break;
      }
      case 'SHUTDOWNCMD':
        values['ups_shutdowncmd'] = first;
        break;
      case 'POWERDOWNFLAG':
        values['ups_powerdown'] = true;
        break;
      case 'NOCOMMWARNTIME':
        values['ups_nocommwarntime'] = Number(first);
        break;
      case 'MINSUPPLIES':
        break;
      case 'NOTIFYFLAG':
        if ([...upsEventNames].some((name) => name === first)) break;
        notCarried.push(lost(line, line.text, 'Holdfast does not know this event.', 'Nothing.'));
        break;
      case 'NOTIFYCMD':
        if (first !== '/usr/sbin/upssched' && first !== '/sbin/upssched')
          notCarried.push(
            lost(
              line,
              line.text,
              'Holdfast notes the events itself.',
              'Set emailnotify of service/ups, or a channel for alerts.',
            ),
          );
        break;
      default:
        notCarried.push(lost(line, line.text, 'Holdfast has no field for it.', 'Do without it: the default applies.'));
    }
  }
}

interface Server {
  readonly devices: readonly Section[];
  readonly global: Section | undefined;
  readonly sections: (name: string) => readonly Section[];
}

function serving(
  { devices, global, sections }: Server,
  values: Record<string, unknown>,
  notCarried: NotCarried[],
): void {
  const wanted = values['ups_identifier'];
  const device = devices.find(({ name }) => name === wanted) ?? devices[0];
  for (const other of devices)
    if (other !== device)
      notCarried.push(lost(other, `[${other.name}]`, 'Holdfast serves one UPS.', 'Connect it to another machine.'));
  const options: string[] = [];
  if (device !== undefined) values['ups_identifier'] = device.name;
  for (const { argv, text } of device?.lines ?? []) {
    const [name = '', value = ''] = argv;
    if (name === 'driver') values['ups_driver'] = value;
    else if (name === 'port') values['ups_port'] = value;
    else if (name === 'desc') values['ups_description'] = value;
    else options.push(text);
  }
  if (options.length > 0) values['ups_options'] = options.join('\n');
  for (const line of global?.lines ?? [])
    notCarried.push(
      lost(
        line,
        line.text,
        'It is for all drivers, and Holdfast has lines for one.',
        'Add it to options of service/ups.',
      ),
    );
  const further: string[] = [];
  let isRemote = false;
  for (const line of sections('upsd.conf')[0]?.lines ?? []) {
    const [word = '', address = '', port] = line.argv;
    if (word !== 'LISTEN') {
      further.push(line.text);
      continue;
    }
    const ip = parseIp(address);
    const isHere = address === 'localhost' || (ip !== undefined && isLoopback(ip));
    isRemote ||= !isHere;
    if (port !== undefined) values['ups_remoteport'] = Number(port);
    if (!isHere && !/^(?:0\.0\.0\.0|\*)$/.test(address))
      notCarried.push(
        lost(
          line,
          line.text,
          'Holdfast lets the server listen on all addresses or on none.',
          'Limit it by a firewall.',
        ),
      );
  }
  values['ups_rmonitor'] = isRemote;
  if (further.length > 0) values['ups_optionsupsd'] = further.join('\n');
  const [, ...users] = sections('upsd.users');
  const own = users.find(({ name }) => name === values['ups_monuser']);
  const extra = users.filter((section) => section !== own);
  const password = own?.lines.find(({ argv }) => argv[0] === 'password')?.argv[1];
  if (own !== undefined && password !== undefined) values['ups_monpwd'] = password;
  for (const line of own?.lines ?? [])
    if (line.argv[0] !== 'password' && line.argv[0] !== 'upsmon')
      notCarried.push(
        lost(
          line,
          line.text,
          'The account of upsmon has no further rights in Holdfast.',
          'Make another account in extrausers for it.',
        ),
      );
  if (extra.length > 0)
    values['ups_extrausers'] = extra
      .map(({ name, lines }) => [`[${name}]`, ...lines.map(({ text }) => text)].join('\n'))
      .join('\n');
}

/** The lines before the first section, then the sections. */
function sectionsOf(file: string, content: string): readonly Section[] {
  const sections: { file: string; line: number; name: string; lines: Line[] }[] = [
    { file, line: 1, name: '', lines: [] },
  ];
  for (const [index, raw] of content.split('\n').entries()) {
    const text = raw.replace(/^((?:[^"#]|"(?:[^"\\]|\\.)*")*)#.*$/, '$1').trim();
    if (text === '') continue;
    const name = /^\[(.+)\]$/.exec(text)?.[1]?.trim();
    const line = index + 1;
    if (name !== undefined) sections.push({ file, line, name, lines: [] });
    else sections.at(-1)?.lines.push({ file, line, text, argv: argvOf(text) });
  }
  return sections;
}

function argvOf(text: string): readonly string[] {
  return [...text.matchAll(/"((?:[^"\\]|\\.)*)"|[^\s="]+/g)].map(
    ([word, quoted]) => quoted?.replaceAll(/\\(.)/g, '$1') ?? word,
  );
}

const lost = ({ file, line }: Origin, text: string, reason: string, toDo: string): NotCarried => ({
  ...{ file, line, text: text.replace(/^(password\s*=?).*/i, '$1 ********'), reason, toDo },
});
