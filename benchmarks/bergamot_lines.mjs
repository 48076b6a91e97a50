// Translates lines by Bergamot in node: node bergamot_lines.mjs PACKAGE FOLDER < lines.json > {translations, seconds}
import {existsSync, readFileSync, readdirSync, writeFileSync} from 'node:fs';
import {join, resolve} from 'node:path';
import {pathToFileURL} from 'node:url';

const [, , home, folder] = process.argv;
const kind = join(home, 'worker', 'package.json'); // which the package lacks: its worker is no module
if (!existsSync(kind)) writeFileSync(kind, '{"type": "commonjs"}');
const {LatencyOptimisedTranslator, TranslatorBacking} = await import(pathToFileURL(resolve(home, 'translator.js')));
const names = readdirSync(folder);

function read(pattern) {
  const name = names.find((each) => pattern.test(each));
  if (name === undefined) return new ArrayBuffer(0);
  const bytes = readFileSync(join(folder, name));
  return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
}

class Backing extends TranslatorBacking {
  async loadModelRegistery() {
    return [{from: 'xx', to: 'yy', files: {}}];
  }

  async loadTranslationModel() {
    const shared = names.some((name) => name.startsWith('vocab.'));
    const vocabs = shared ? [read(/^vocab\./)] : [read(/^srcvocab\./), read(/^trgvocab\./)];
    return {model: read(/^model\..*\.bin$/), vocabs, shortlist: read(/^lex\./), qualityModel: null, config: {}};
  }
}

const options = {cacheSize: 0};
const translator = new LatencyOptimisedTranslator(options, new Backing(options));
const lines = JSON.parse(readFileSync(0, 'utf-8'));
const translate = async (text) => (await translator.translate({from: 'xx', to: 'yy', text, html: false})).target.text;
await translate(lines[0]);
const begun = performance.now();
const translations = [];
for (const line of lines) translations.push(await translate(line));
const answer = JSON.stringify({translations, seconds: (performance.now() - begun) / 1000});
process.stdout.write(answer, () => process.exit(0)); // a pipe takes it in pieces
