import { anyJson, choice, optional, required, text } from '../../engine/declare/fields.ts';
import { operation, section } from '../../engine/declare/operation.ts';
import { listOf, stringOf } from '../../engine/declare/schema.ts';

export const plan = section('plan', 'Dry runs.', [
  operation({
    method: 'POST',
    path: 'plan',
    name: 'planRequest',
    title: 'Describes what a request would do to the machine, and changes nothing.',
    body: {
      method: required(choice(['POST', 'PUT', 'DELETE'], { description: 'Method of the request.' })),
      path: required(text({ description: 'Path of the request below /api/v1.0/, such as sharing/cifs/.', max: 4096 })),
      body: optional(anyJson({ description: 'Body of the request.' })),
    },
    answer: listOf(stringOf('One action, such as write /etc/samba/smb.conf.')),
    example: { body: { method: 'POST', path: 'tasks/cronjob/', body: { cron_user: 'root', cron_command: 'true' } } },
    run: ({ plan: planned, body, context }) => planned(body, context),
  }),
]);
