// Divides a text into sentences and the white space before each, so that joined they are the text again.

const LONGEST = 1000; // characters of a sentence; a longer one is cut at white space, and a word without an end anywhere
const LAST_WORD = /(?:^|[\s(["“„«])([^\s(["“„«]*?)\.+["'”’»›)\]]*\s*$/u;
const FIRST_WORD = /^[\s"'“„‘«‹¿¡([]*([\p{L}\p{M}\p{N}_]*)/u;
const INITIALS = /^(?:\p{L}{1,2}\.[-‑]?)+\p{L}{1,2}$/u;
const NO_VOWELS = /^(?:[b-df-hj-np-tv-xz]{2,5}|[бвгджзйклмнпрстфхцчшщ]{2,5})$/iu;
const QUOTED = /[。！？｡．][」』”’"）)》〉】\]]+\s*$/u;
const AFTER_QUOTATION = /^[、，,：；とって]/u;
const ORDINAL = /^(?:\p{Nd}{1,2}|[IVX]{1,6})$/u;

/**
 * The BCP 47 tag of a language's code; "", an unknown language in HTML, for a code that no tag may look like.
 *
 * @param {string} code a language's code, such as de, pt_BR or a made-up one
 * @returns {string}
 */
function tagOf(code) {
  try {
    return Intl.getCanonicalLocales(code.replaceAll("_", "-"))[0];
  } catch {
    return "";
  }
}

/**
 * Makes a function that divides a text: where the browser ends sentences, except after an abbreviation, initial or
 * ordinal, as documents/sentences.py decides it.
 *
 * @param {string} language a language's code
 * @param {Record<string, string[]>} words what decides: names, numbers, units, more and begins
 * @returns {(text: string) => {sentences: {gap: string, text: string}[], rest: string}}
 */
function sentenceSplitter(language, words) {
  const segmenter = new Intl.Segmenter(tagOf(language) || "und", { granularity: "sentence" });
  const known = Object.fromEntries(Object.entries(words).map(([kind, list]) => [kind, new Set(list)]));

  function mayEndBefore(word, following) {
    const last = word.split("-").at(-1) || word;
    const small = last.toLowerCase().replace("’", "'");
    if (known.names.has(small) || (known.numbers.has(small) && /^\p{Nd}/u.test(following))) return false;
    const isOrdinal = ORDINAL.test(word);
    if (isOrdinal && !/^\p{L}/u.test(following)) return true;
    const isCapital = last === last.toUpperCase();
    const isInitial = /^[^\P{L}\u3001-\uefff]$/u.test(last);
    const isShort =
      known.more.has(small) ||
      (/(?:str|nr)$/.test(small) && small.length > 3) ||
      INITIALS.test(word) ||
      (NO_VOWELS.test(last) && !known.units.has(small) && !isCapital);
    if (!isShort && !isOrdinal && !isInitial) return true;
    return known.begins.has(following) && !(isInitial && following.length < 3);
  }

  function ends(text, next) {
    if (QUOTED.test(text) && AFTER_QUOTATION.test(next)) return false;
    const word = LAST_WORD.exec(text)?.[1];
    const following = FIRST_WORD.exec(next)[1];
    const isNumberOfHeading = /^\p{Nd}+$/u.test(word ?? "") && !/\S\s+\S/u.test(text);
    return word === undefined || following === "" || isNumberOfHeading || mayEndBefore(word, following);
  }

  return (text) => {
    const sentences = [];
    let gap = "";
    let open = "";
    const add = (piece) => {
      const body = piece.trim();
      const start = body ? piece.indexOf(body) : piece.length;
      gap += piece.slice(0, start);
      if (body) {
        sentences.push({ gap, text: body });
        gap = piece.slice(start + body.length);
      }
    };
    for (const line of text.split(/(\n)/)) {
      for (const { segment } of segmenter.segment(line)) {
        if (open && ends(open, segment)) {
          add(open);
          open = "";
        }
        open += segment;
        while (open.length > LONGEST) {
          const cut = open.lastIndexOf(" ", LONGEST) + 1 || LONGEST;
          add(open.slice(0, cut));
          open = open.slice(cut);
        }
      }
      add(open);
      open = "";
    }
    return { sentences, rest: gap };
  };
}
