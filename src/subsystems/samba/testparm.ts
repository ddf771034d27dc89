import type { Checker } from '../../engine/declare/subsystem.ts';

/** testparm answers 0 for much that is wrong; these lines of its standard error are refusals all the same. */
const refusals = /^Unknown parameter encountered|^Global parameter .* found in service section|is not boolean|^ERROR/;

/** What it says besides when it refuses by its exit status. */
const chatter =
  /^(Load smb config files|Loaded services file OK|Weak crypto|lpcfg_do_global_parameter: WARNING|WARNING|NOTE|Server role|Ignoring unknown parameter|Error loading services|\s*$)/;

export const testparm: Checker = {
  argv: (staged) => ['testparm', '-s', staged],
  objection({ status, stderr }) {
    const said = stderr.split('\n').map((line) => line.trim());
    const refused = said.filter((line) => refusals.test(line));
    const reasons = refused.length > 0 || status === 0 ? refused : said.filter((line) => !chatter.test(line));
    if (reasons.length === 0 && status === 0) return undefined;
    return `Samba refuses its configuration: ${reasons.slice(0, 3).join(' ') || `testparm ended with ${status}.`}`;
  },
};
