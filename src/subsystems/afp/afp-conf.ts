import type { afpSettings } from '../../areas/services/afp.ts';
import type { AfpShare } from '../../areas/sharing/afp.ts';
import type { RecordOf } from '../../engine/declare/resource.ts';
import { lines, words } from '../../lib/text.ts';

type Settings = RecordOf<typeof afpSettings.fields>;

/** A line of a section, or undefined if the value is unset. */
function set(name: string, value: string | number | boolean | undefined): string | undefined {
  if (value === undefined || value === '') return undefined;
  return `  ${name} = ${typeof value === 'boolean' ? (value ? 'yes' : 'no') : value}`;
}

/** Auxiliary parameters, verbatim. They come last because netatalk uses the last of two lines with the same name. */
function asWritten(text: string): string | undefined {
  return text === '' ? undefined : text;
}

/** The section `[Global]`. `dbpath` is undefined while its volume is missing. */
export function globalSection(settings: Settings, { dbpath }: { readonly dbpath: string | undefined }): string {
  return lines(
    '; Written by Holdfast.',
    '[Global]',
    set('afp listen', settings.afp_srv_bindip.join(' ')),
    // No method that sends passwords in clear text.
    set('uam list', ['uams_dhx2.so', ...(settings.afp_srv_guest ? ['uams_guest.so'] : [])].join(' ')),
    set('guest account', settings.afp_srv_guest_user),
    set('max connections', settings.afp_srv_connections_limit),
    set('vol dbpath', dbpath),
    set('map acls', settings.afp_srv_map_acls),
    set('chmod request', settings.afp_srv_chmod_request),
    asWritten(settings.afp_srv_global_aux),
  );
}

/** The section of a share. netatalk converts the section title to lower case, so `volume name` repeats the name. */
export function shareSection(share: AfpShare): string {
  return lines(
    '',
    share.afp_home
      ? ['[Homes]', set('basedir regex', share.afp_path.replaceAll('.', '[.]'))]
      : [`[${share.afp_name}]`, set('volume name', share.afp_name), set('path', share.afp_path)],
    set('valid users', accounts(share.afp_allow)),
    set('invalid users', accounts(share.afp_deny)),
    set('rolist', accounts(share.afp_ro)),
    set('rwlist', accounts(share.afp_rw)),
    set('password', share.afp_sharepw),
    // netatalk does not allow these together with `unix priv = no`.
    share.afp_upriv
      ? [
          set('file perm', mode(share.afp_fperm)),
          set('directory perm', mode(share.afp_dperm)),
          set('umask', mode(share.afp_umask)),
        ]
      : set('unix priv', false),
    share.afp_nostat ? set('stat vol', false) : undefined,
    share.afp_nodev ? set('cnid dev', false) : undefined,
    share.afp_timemachine
      ? [set('time machine', true), set('vol size limit', share.afp_timemachine_quota || undefined)]
      : undefined,
    set('hosts allow', words(share.afp_hostsallow).join(' ')),
    set('hosts deny', words(share.afp_hostsdeny).join(' ')),
    asWritten(share.afp_auxparams),
  );
}

function accounts(list: string): string {
  return words(list).join(' ');
}

function mode(octal: string): string | undefined {
  return octal === '' ? undefined : octal.padStart(4, '0');
}
