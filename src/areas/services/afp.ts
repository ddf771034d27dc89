import { choice, flag, integer, list, nullable, refine, required } from '../../engine/declare/fields.ts';
import { configLines, ipAddress, userName, volumePath } from '../../engine/declare/formats.ts';
import { singleton } from '../../engine/declare/resource.ts';
import { quote } from '../../lib/text.ts';
import { globalParameters } from './afp-parameters.ts';

export const afpSettings = singleton('services/afp', {
  title: 'AFP settings',
  description: 'How netatalk serves all AFP shares.',
  fields: {
    afp_srv_guest: flag(false, { description: 'Whether clients may connect without an account.' }),
    afp_srv_guest_user: refine(
      userName({ description: 'Account that clients without one work as.', initial: 'nobody' }),
      (name) => (name === 'root' ? 'Guests must not work as root.' : undefined),
    ),
    afp_srv_bindip: list(required(ipAddress({ description: 'An address of the machine.' })), {
      description: 'Addresses the server listens on and announces; all when empty.',
      max: 16,
    }),
    afp_srv_connections_limit: integer({
      description: 'Clients that may be connected at once.',
      min: 1,
      max: 1000,
      initial: 50,
    }),
    afp_srv_dbpath: nullable(
      refine(
        volumePath({ description: "Folder of the database of file numbers; the system's own when unset." }),
        wordProblem,
      ),
    ),
    afp_srv_global_aux: afpLines({
      description: 'Further lines of the section [Global] of afp.conf.',
      known: globalParameters,
    }),
    // Beyond the document's list (gaps 8.2).
    afp_srv_map_acls: choice(['rights', 'mode', 'none'], {
      description:
        'What clients see of access lists: the rights that follow from them, also the Unix mode, or nothing.',
      initial: 'rights',
    }),
    afp_srv_chmod_request: choice(['preserve', 'simple', 'ignore'], {
      description:
        "What a client's change of permissions does to access lists: they stay, they may be lost, or nothing changes.",
      initial: 'preserve',
    }),
  },
});

/** Longer lines end netatalk. */
const longestLine = 1000;

/**
 * Lines that a person adds to afp.conf. Nothing checks that file but netatalk itself, which ends at a line it cannot
 * read and is started over and over, so each must be a comment or a setting that netatalk knows.
 */
export function afpLines({
  description,
  known,
}: {
  readonly description: string;
  readonly known: ReadonlySet<string>;
}) {
  return refine(configLines({ description }), (value) => {
    for (const line of value.split('\n').map((one) => one.trim())) {
      if (line === '' || /^[#;]/.test(line)) continue;
      const name = /^([a-z0-9][a-z0-9 ]*)=/i.exec(line)?.[1]?.trim().toLowerCase();
      if (name === undefined) return `${quote(line)} is no setting of afp.conf: write "name = value".`;
      if (!known.has(name)) return `${quote(line)}: netatalk knows no setting ${quote(name)} here.`;
      if (line.endsWith('\\'))
        return `${quote(line)} must not end in a backslash, which would take the next line along.`;
      if (Buffer.byteLength(line) > longestLine)
        return `${quote(line)} is too long: netatalk reads ${longestLine} bytes a line.`;
    }
    return undefined;
  });
}

/** afp.conf has no escapes. */
function wordProblem(path: string): string | undefined {
  const stray = /[;#"'\\$]/.exec(path);
  return stray === null ? undefined : `netatalk would read ${quote(stray[0])} in it as something else.`;
}
