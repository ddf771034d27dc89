/** The system and the release whose interface this is. Clients check both before they use it (clients-need V15, H14). */
export const publicName = 'FreeNAS';
export const publicRelease = '11.2-U8';
