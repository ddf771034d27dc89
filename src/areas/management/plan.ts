import { anyJson, choice, flag, optional, required, text } from '../../engine/declare/fields.ts';
import { Headed, operation, section } from '../../engine/declare/operation.ts';
import { choiceOf, flagOf, listOf, objectOf, orNull, stringOf } from '../../engine/declare/schema.ts';
import { detailedStepsOf, titlesOf } from '../../engine/plan/dry-run.ts';
import { planHeader, tokenOf } from '../../engine/plan/token.ts';

export const plannedStep = objectOf('PlannedStep', {
  title: stringOf('What it does, such as write /etc/samba/smb.conf.'),
  reversible: flagOf('Whether it is taken back if a later step of the request fails.'),
  decides: flagOf('Whether the plan ends with it, because what follows depends on what the step finds.'),
  touches: listOf(stringOf('For example file /etc/motd, service smbd or dataset tank/media.'), 'What it is done to.'),
  files: listOf(
    objectOf('PlannedFile', {
      path: stringOf('Path of the file.'),
      diff: orNull(
        stringOf(
          'A unified diff. Null for a file that not every account may read, one that is not text, and one whose diff takes too long.',
        ),
      ),
    }),
    'Files that it writes or removes.',
  ),
  services: listOf(
    objectOf('PlannedService', {
      service: stringOf('Its name in the service manager.'),
      action: choiceOf(['start', 'stop', 'restart', 'reload'], 'What is done to it.'),
    }),
    'Services that it starts, stops, restarts or reloads.',
  ),
  sessions: listOf(stringOf('An initiator and its target.'), 'Sessions of iSCSI initiators that end with it.'),
});

export const plan = section('plan', 'Dry runs.', [
  operation({
    method: 'POST',
    path: 'plan',
    name: 'planRequest',
    alone: 'It changes nothing.',
    title:
      'Describes what a request of either interface would do to the machine, and changes nothing. The request can send the header X-Holdfast-Plan of the answer, to be refused if it would do something else by then.',
    body: {
      method: required(choice(['POST', 'PUT', 'DELETE'], { description: 'Method of the request.' })),
      path: required(
        text({
          description: 'Path of the request below /api/v1.0/, such as sharing/cifs/, or from /api/ on.',
          max: 4096,
        }),
      ),
      body: optional(anyJson({ description: 'Body of the request.' })),
      details: flag(false, { description: 'Whether to answer the details of each step instead of its title.' }),
    },
    answer: { anyOf: [listOf(stringOf('One step, such as write /etc/samba/smb.conf.')), listOf(plannedStep)] },
    example: { body: { method: 'POST', path: 'tasks/cronjob/', body: { cron_user: 'root', cron_command: 'true' } } },
    async run({ plan: planned, body, context, engine }) {
      const found = await planned(body, context);
      const steps = body.details ? await detailedStepsOf(found) : titlesOf(found);
      return new Headed(steps, { [planHeader]: await tokenOf(found, engine.world) });
    },
  }),
]);
