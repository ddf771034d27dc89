/** Reads targets that were made by hand, in the kernel (LIO) or in tgt. */
import type { Adoption, NotCarried } from '../../engine/declare/proposal.ts';
import { unmanagedSubsystem } from '../../engine/upkeep/takeover.ts';
import { hasOnlyComments } from '../local.ts';
import { type FoundTargets, lost, recordsOf } from './found-targets.ts';
import { savedTargets } from './saveconfig.ts';
import { tgtTargets } from './tgt-conf.ts';

/** Where targetcli saves; the first is Debian's. */
const saved = ['/etc/rtslib-fb-target/saveconfig.json', '/etc/target/saveconfig.json'] as const;
const tgt = '/etc/tgt/';

export const iscsiAdoption: Adoption = {
  files: [...saved, `${tgt}targets.conf`, `${tgt}conf.d/*`],
  read({ files, facts, view }) {
    const file = saved.find((path) => files.has(path));
    const lio = file === undefined ? none : savedTargets(file, files.get(file) ?? '');
    const inSpace = tgtTargets(
      [...files].filter(([path, content]) => path.startsWith(tgt) && !hasOnlyComments(content)),
    );
    const found: FoundTargets = {
      targets: [...lio.targets, ...inSpace.targets],
      discovery: lio.targets.length > 0 ? lio.discovery : inSpace.discovery,
      notCarried: [...lio.notCarried, ...inSpace.notCarried],
    };
    const reading = recordsOf(found, facts);
    const live = view.find(unmanagedSubsystem, 'subsystem', 'iscsi')?.live ?? [];
    return { records: reading.records, notCarried: [...reading.notCarried, ...unsaved(found, live)] };
  },
};

const none: FoundTargets = { targets: [], discovery: [], notCarried: [] };

/** Targets that run and that no file has. */
function unsaved({ targets }: FoundTargets, live: readonly string[]): readonly NotCarried[] {
  return live
    .filter((text) => !targets.some(({ name }) => text.includes(name)) && /\b(?:iqn|eui|naa)\./.test(text))
    .map((text) =>
      lost({ file: '/sys/kernel/config/target', line: 0 }, text, {
        reason: 'It runs, and its configuration was not saved.',
        toDo: 'Run targetcli saveconfig, and read again. Without that it is gone after a restart too.',
      }),
    );
}
