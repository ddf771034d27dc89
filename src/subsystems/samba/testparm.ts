import type { Checker } from '../../engine/declare/subsystem.ts';

/** testparm exits with 0 for many errors; these lines of its standard error are treated as errors. */
const errorLine = /^Unknown parameter encountered|^Global parameter .* found in service section|is not boolean|^ERROR/;

/** Lines that are not the cause when testparm exits with another status. */
const otherLine =
  /^(Load smb config files|Loaded services file OK|Weak crypto|lpcfg_do_global_parameter: WARNING|WARNING|NOTE|Server role|Ignoring unknown parameter|Error loading services|\s*$)/;

export const testparm: Checker = {
  argv: (staged) => ['testparm', '-s', staged],
  objection({ status, stderr }) {
    const messages = stderr.split('\n').map((line) => line.trim());
    const errors = messages.filter((line) => errorLine.test(line));
    const reasons = errors.length > 0 || status === 0 ? errors : messages.filter((line) => !otherLine.test(line));
    if (reasons.length === 0 && status === 0) return undefined;
    return `Samba rejects its configuration: ${reasons.slice(0, 3).join(' ') || `testparm exited with status ${status}.`}`;
  },
};
