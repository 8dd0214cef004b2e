// Reads its settings from several files.
'use strict';
const fs = require('fs');

class Settings {
  constructor(paths) { this.paths = paths; }
  readFile(path) { return fs.readFileSync(path, 'utf8'); }
  load() { return this.paths.map((path) => this.readFile(path)); }
}

new Settings(['/etc/hostname', '/etc/passwd']).load();
