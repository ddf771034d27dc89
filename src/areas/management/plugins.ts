import { flag, integer, required, text } from '../../engine/declare/fields.ts';
import { operation, section } from '../../engine/declare/operation.ts';
import { bundleSource, enablePlugin, installPlugin } from '../plugins/install.ts';

const answer = { $ref: '#/components/schemas/Plugin' };

export const plugins = section('plugins', 'Plugins, which the document can list and remove but not install.', [
  operation({
    method: 'POST',
    path: 'plugins',
    name: 'installPlugin',
    alone: 'What its bundle contains is known only after it was unpacked.',
    title: 'Installs a plugin from a bundle into a jail. If a part of it fails, everything is undone.',
    body: {
      bundle: bundleSource,
      jail: text({ description: 'Name of the jail; a new jail is created when not sent.', max: 64 }),
      enabled: flag(false, { description: 'Whether the plugin starts with its jail.' }),
    },
    answer,
    example: { body: { bundle: '/usr/share/holdfast/plugins/webpage', jail: 'web', enabled: true } },
    run: ({ body, operations }) => installPlugin(operations, body),
  }),
  operation({
    method: 'POST',
    path: 'plugins/enable',
    name: 'enablePlugin',
    title: 'Sets whether a plugin starts with its jail. Does not start or stop it now.',
    body: {
      id: required(integer({ description: 'Id of the plugin.', min: 1 })),
      enabled: required(flag(false, { description: 'Whether the plugin starts with its jail.' })),
    },
    answer,
    example: { body: { id: 1, enabled: false } },
    run: ({ body, operations }) => enablePlugin(operations, body),
  }),
]);
