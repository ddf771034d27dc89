import { operation, section } from '../../engine/declare/operation.ts';
import { severities } from '../../engine/declare/problem.ts';
import { anyObject, choiceOf, listOf, objectOf, orNull, stringOf } from '../../engine/declare/schema.ts';
import type { Topic } from '../../engine/facts/facts.ts';
import { pauses } from '../../lib/slices.ts';
import { checks, findingsOf } from './doctor-checks.ts';

const finding = objectOf('Finding', {
  severity: choiceOf(severities, 'How bad it is; info is no fault.'),
  about: stringOf('What it is about: the path of a record or resource, subsystem/NAME, or a path of the machine.'),
  message: stringOf('What is wrong.'),
  remedy: orNull({
    ...objectOf(
      'FindingRemedy',
      { method: choiceOf(['POST', 'PUT', 'DELETE'], 'Its method.'), path: stringOf('Its path.') },
      { body: anyObject('Its body.') },
    ),
    description: 'The request that mends it; null if none does.',
  }),
  command: orNull(
    stringOf('Commands for a shell of the appliance that mend it or show the cause; null with a remedy.'),
  ),
});

/** What may have changed without an event. */
const topics: readonly Topic[] = ['condition', 'disks', 'network', 'services', 'storage'];

export const doctor = section('doctor', 'A look at all of the appliance.', [
  operation({
    method: 'GET',
    path: 'doctor',
    name: 'examine',
    title: 'Examines the appliance now, which can take some seconds: each check with what it found.',
    answer: listOf(
      objectOf('Examination', {
        check: stringOf('Name of the check.'),
        title: stringOf('What has to be so.'),
        findings: listOf(finding, 'What is wrong, and what mends it. Empty if all is well.'),
      }),
    ),
    list: { key: ['check'] },
    awaitsStart: true,
    async run(call) {
      await call.engine.renew(...topics).catch(() => {});
      const examined = [];
      const reports = await call.engine.report();
      const { problems } = call.engine;
      const pause = pauses();
      for (const check of checks) {
        await pause();
        const findings = await findingsOf(check, { ...call, reports, problems });
        examined.push({
          check: check.name,
          title: check.title,
          findings: findings.map(({ severity, about, message, remedy = null, command = null }) => {
            return { severity, about, message, remedy, command };
          }),
        });
      }
      return examined;
    },
  }),
]);
