import type { Area } from '../resource.ts';
import { accountArea } from './account.ts';
import { directoryArea } from './directoryservice.ts';
import { iscsiArea } from './iscsi.ts';
import { jailsArea } from './jails.ts';
import { networkArea } from './network.ts';
import { pluginsArea } from './plugins.ts';
import { servicesArea } from './services.ts';
import { sharingArea } from './sharing.ts';
import { storageArea } from './storage.ts';
import { systemArea } from './system.ts';
import { tasksArea } from './tasks.ts';

/** The areas of the document. Storage comes first, for others lie on a volume; what resets the machine comes last. */
export const areas: readonly Area[] = [
  storageArea,
  jailsArea,
  directoryArea,
  networkArea,
  tasksArea,
  sharingArea,
  servicesArea,
  iscsiArea,
  pluginsArea,
  accountArea,
  systemArea,
];
