/**
 * Node's HTTP module. An import statement makes Node load all exports of the module, with a WebSocket client, which
 * takes a tenth of a second of each start on a small machine. `getBuiltinModule` avoids this.
 */
export const http = process.getBuiltinModule('node:http');
