import {
  advanced,
  basic,
  choice,
  flag,
  integer,
  list,
  nullable,
  refine,
  required,
  titled,
} from '../../engine/declare/fields.ts';
import { configLines, ownAddress, userName, volumePath } from '../../engine/declare/formats.ts';
import { singleton } from '../../engine/declare/resource.ts';
import { quote } from '../../lib/text.ts';
import { globalParameters } from './afp.vocabulary.ts';
import { service, tcp } from './service.ts';

export const afpSettings = singleton('services/afp', {
  shortName: 'service/afp',
  title: 'AFP settings',
  description: 'How netatalk serves all AFP shares.',
  fields: {
    ...basic('Guests', {
      afp_srv_guest: titled(
        'Allow guests',
        flag(false, { description: 'Whether clients may connect without an account.' }),
      ),
      afp_srv_guest_user: titled(
        'Guest account',
        refine(userName({ description: 'Account that guests work as.', initial: 'nobody' }), (name) =>
          name === 'root' ? 'Expected an account other than root.' : undefined,
        ),
      ),
    }),
    ...advanced('Network', {
      afp_srv_bindip: titled(
        'Addresses',
        list(required(ownAddress({ description: 'An address of the machine.' })), {
          description: 'Addresses the server listens on and announces; all when empty.',
          max: 16,
        }),
      ),
      afp_srv_connections_limit: titled(
        'Limit of connections',
        integer({
          description: 'Clients that may be connected at once.',
          min: 1,
          max: 1000,
          initial: 50,
        }),
      ),
    }),
    ...advanced('Files', {
      afp_srv_dbpath: titled(
        'Database folder',
        nullable(
          refine(
            volumePath({
              description: 'Folder of the CNID databases; the default of the system when null.',
              isMade: true,
            }),
            pathProblem,
          ),
        ),
      ),
    }),
    ...advanced('Further', {
      afp_srv_global_aux: titled(
        'Additional lines',
        afpLines({
          description: 'Additional lines of the section [Global] of afp.conf.',
          known: globalParameters,
        }),
      ),
    }),
    ...advanced('Files', {
      // Not listed in the document (gaps 8.2).
      afp_srv_map_acls: titled(
        'Access control lists',
        choice(['rights', 'mode', 'none'], {
          description:
            'How clients see ACLs: rights maps them to effective rights, mode also to the Unix mode, none hides them.',
          initial: 'rights',
        }),
      ),
      afp_srv_chmod_request: titled(
        'Changes of permissions',
        choice(['preserve', 'simple', 'ignore'], {
          description:
            'How a client changes permissions: preserve keeps ACLs, simple may lose them, ignore changes nothing.',
          initial: 'preserve',
        }),
      ),
    }),
  },
});

export const afpService = service('afp', {
  settings: afpSettings,
  programs: ['netatalk'],
  servesVolumes: true,
  listens: [tcp(548)],
});

/** netatalk crashes on longer lines. */
const longestLine = 1000;

/**
 * Additional lines of afp.conf. There is no configuration check: netatalk itself exits at a line that it cannot read,
 * and systemd restarts it in a loop. So each line must be a comment or a setting that netatalk knows.
 */
export function afpLines({
  description,
  known,
}: {
  readonly description: string;
  readonly known: ReadonlySet<string>;
}) {
  return refine(configLines({ description }), (value) => {
    for (const line of value.split('\n').map((raw) => raw.trim())) {
      if (line === '' || /^[#;]/.test(line)) continue;
      const name = /^([a-z0-9][a-z0-9 ]*)=/i.exec(line)?.[1]?.trim().toLowerCase();
      if (name === undefined) return `Expected "name = value", got ${quote(line)}.`;
      if (!known.has(name)) return `${quote(name)} is not a setting of netatalk in this section.`;
      if (line.endsWith('\\')) return `Expected a line that does not end in a backslash, got ${quote(line)}.`;
      if (Buffer.byteLength(line) > longestLine)
        return `Expected lines of at most ${longestLine} bytes, got ${quote(line)}.`;
    }
    return undefined;
  });
}

/** afp.conf has no escape for these characters. */
function pathProblem(path: string): string | undefined {
  const stray = /[;#"'\\$]/.exec(path);
  return stray === null ? undefined : `Expected a path without the characters ; # " ' \\ $, got ${quote(stray[0])}.`;
}
