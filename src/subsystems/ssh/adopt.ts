/** Reads a hand-made sshd_config: the opposite of `sshd-config.ts`. */
import { sshSettings } from '../../areas/services/ssh.ts';
import type { Adoption, NotCarried, Origin } from '../../engine/declare/proposal.ts';
import { lastElement, parentOf } from '../../lib/path.ts';

const main = '/etc/ssh/sshd_config';
const folder = '/etc/ssh/sshd_config.d/';

export const sshAdoption: Adoption = {
  files: [main, `${folder}*`],
  read({ files }) {
    const content = files.get(main);
    if (content === undefined) return { records: [], notCarried: [] };
    const notCarried: NotCarried[] = [];
    const lines = linesOf(main, files, notCarried);
    const values = new Map<string, unknown>(usual);
    const kept: string[] = [];
    const given = new Set<string>();
    for (const line of lines) {
      const { word, value } = line;
      if (line.isOfMatch) {
        kept.push(line.text);
        continue;
      }
      const meaning = meanings[word]?.(value);
      if (meaning === undefined) kept.push(`${line.name} ${value}`);
      // For sshd, the first line counts.
      else if (given.has(word) && word !== 'hostkey') continue;
      else {
        for (const [wire, one] of Object.entries(meaning.values ?? {})) values.set(wire, one);
        kept.push(...(meaning.lines ?? []));
        if (meaning.lack !== undefined)
          notCarried.push({ ...originOf(line), text: line.text, within: 1, ...meaning.lack });
      }
      given.add(word);
    }
    const isKept = new Set(kept);
    return {
      records: [
        {
          ...{ resource: sshSettings.path, file: main, line: 1 },
          values: { ...Object.fromEntries(values), ...(isKept.size > 0 && { ssh_options: [...isKept].join('\n') }) },
        },
      ],
      notCarried,
    };
  },
};

/** What sshd does without a line, where Holdfast would do something else. */
const usual: readonly (readonly [string, unknown])[] = [
  ['ssh_passwordauth', true],
  ['ssh_tcpfwd', true],
  ['ssh_compression', true],
];

interface Meaning {
  readonly values?: Readonly<Record<string, unknown>>;
  /** Lines that do the same. */
  readonly lines?: readonly string[];
  readonly lack?: { readonly reason: string; readonly toDo: string };
}

const isYes = (value: string) => /^(?:yes|delayed)$/i.test(value);
const silent: Meaning = {};

/** What a line becomes. A word that is absent, and undefined, is a line that stays as it is. */
const meanings: Readonly<Record<string, (value: string) => Meaning | undefined>> = {
  port: (value) => ({ values: { ssh_tcpport: Number(value) } }),
  permitrootlogin: (value) => {
    if (/^yes$/i.test(value)) return { values: { ssh_rootlogin: true } };
    if (/^(?:prohibit|without)-password$/i.test(value)) return { values: { ssh_rootlogin: false } };
    return {
      values: { ssh_rootlogin: false },
      ...(/^no$/i.test(value) && { lines: ['DenyUsers root'] }),
      lack: {
        reason: 'In Holdfast, root may log in with a key.',
        toDo: /^no$/i.test(value)
          ? 'Nothing: the line DenyUsers root of options refuses it.'
          : 'Limit the key by command="…" in the keys of root.',
      },
    };
  },
  passwordauthentication: (value) => ({ values: { ssh_passwordauth: isYes(value) } }),
  kbdinteractiveauthentication: (value) =>
    isYes(value)
      ? {
          lack: {
            reason: 'Holdfast allows it together with passwords: both ask PAM for the same password.',
            toDo: 'Set passwordauth of service/ssh if people log in with passwords.',
          },
        }
      : silent,
  challengeresponseauthentication: () => silent,
  gssapiauthentication: (value) => ({ values: { ssh_kerberosauth: isYes(value) } }),
  allowtcpforwarding: (value) =>
    /^(?:yes|all|no)$/i.test(value)
      ? { values: { ssh_tcpfwd: !/^no$/i.test(value) } }
      : {
          values: { ssh_tcpfwd: false },
          lack: {
            reason: 'Holdfast forwards in both directions or not at all.',
            toDo: 'Set tcpfwd of service/ssh to allow it.',
          },
        },
  compression: (value) => ({ values: { ssh_compression: isYes(value) } }),
  usepam: (value) =>
    isYes(value)
      ? silent
      : { lack: { reason: 'Holdfast logs people in by PAM, which limits and locks accounts.', toDo: 'Nothing.' } },
  printmotd: (value) =>
    isYes(value) ? { lack: { reason: 'PAM shows the message of the day.', toDo: 'Nothing.' } } : silent,
  acceptenv: (value) => (/^(?:LANG|LC_\*|\s)+$/.test(value) ? silent : undefined),
  hostkey: (value) => keyMeaning(value),
  hostcertificate: (value) => keyMeaning(value.replace(/-cert\.pub$/, '')),
  subsystem: (value) => {
    const [, name = '', program = '', rest = ''] = /^(\S+)\s+(\S+)\s*(.*)$/.exec(value) ?? [];
    if (name !== 'sftp') return undefined;
    const level = /-l\s+(\S+)/.exec(rest)?.[1] ?? '';
    const facility = /-f\s+(\S+)/.exec(rest)?.[1] ?? '';
    const more = rest.replaceAll(/-[lf]\s+\S+/g, '').trim();
    return {
      values: { ssh_sftp_log_level: level.toUpperCase(), ssh_sftp_log_facility: facility.toUpperCase() },
      ...((!program.endsWith('/sftp-server') || more !== '') && {
        lack: {
          reason: 'Holdfast runs the program sftp-server without further options.',
          toDo: 'For accounts in a ChrootDirectory, add ForceCommand internal-sftp to their Match block in options.',
        },
      }),
    };
  },
};

/** The first start has taken over the keys at their usual places. */
const keyMeaning = (path: string): Meaning =>
  /^\/etc\/ssh\/(?:holdfast\/)?ssh_host_(?:rsa|ecdsa|ed25519)_key$/.test(path)
    ? silent
    : {
        lack: {
          reason: `Holdfast has the host keys of /etc/ssh, and not ${lastElement(path)}.`,
          toDo: 'Set privatekey of service/ssh to its content.',
        },
      };

interface Line extends Origin {
  readonly text: string;
  readonly name: string;
  readonly word: string;
  readonly value: string;
  readonly isOfMatch: boolean;
}

const originOf = ({ file, line }: Origin): Origin => ({ file, line });

/** The lines in the order in which sshd reads them, those of Match blocks last. A block ends with its file. */
function linesOf(path: string, files: ReadonlyMap<string, string>, notCarried: NotCarried[]): readonly Line[] {
  const plain: Line[] = [];
  const ofMatch: Line[] = [];
  const read = (file: string, depth: number): void => {
    let isOfMatch = false;
    for (const [index, raw] of (files.get(file) ?? '').split('\n').entries()) {
      const text = raw.replace(/^\s*#.*$/, '').trim();
      if (text === '') continue;
      const [, name = '', value = ''] = /^(\w+)(?:\s*=\s*|\s+)(.*)$/.exec(text) ?? [];
      const word = name.toLowerCase();
      const line = { file, line: index + 1, text, name, word, value: value.replace(/^"(.*)"$/, '$1') };
      if (word === 'match') isOfMatch = true;
      if (word === 'include' && !isOfMatch && depth < 8) {
        const found = value.split(/\s+/).flatMap((pattern) => included(pattern, files));
        for (const one of found) read(one, depth + 1);
        if (found.length === 0 && !value.startsWith(folder))
          notCarried.push({
            ...{ file, line: index + 1, text, within: 1 },
            ...{ reason: 'The file that it includes was not read.', toDo: 'Add its lines to options of service/ssh.' },
          });
      } else (isOfMatch ? ofMatch : plain).push({ ...line, isOfMatch });
    }
  };
  read(path, 0);
  return [...plain, ...ofMatch];
}

function included(pattern: string, files: ReadonlyMap<string, string>): readonly string[] {
  const whole = pattern.startsWith('/') ? pattern : `/etc/ssh/${pattern}`;
  const end = /^\*(\.\w+)?$/.exec(lastElement(whole))?.[1];
  return [...files.keys()]
    .filter((path) => path === whole || (end !== undefined && parentOf(path) === parentOf(whole) && path.endsWith(end)))
    .toSorted();
}
